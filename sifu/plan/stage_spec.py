"""One record a stage: it feeds paths, command line, freshness, workflow, the report's sources and docs/results.md.

A new stage is a file sifu/stages/<name>.py with a function `command`, a record here, a rule in workflow/rules, a test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

_PARTITION = ("dataset", "partition", "watermark")  # in the paper's code, marks have a part in the draws
_TRAIN = (*_PARTITION, "backdoor", "model", "federation", "stop", "certificate", "snapshot_every")
_VARIANT = "name in variants.yaml"
_MAXIMUM = "maximum rounds (default: the scenario's)"
_LIST: dict[str, Any] = {"nargs": "+", "required": True}
_SEEDS_END = "leave out the block's seeds from this one on"


class Option(NamedTuple):
    """An option of a stage's command, beyond those that all stages share."""

    flag: str
    help: str
    keywords: dict[str, Any]  # further keywords of argparse's add_argument


def option(flag: str, help: str, **keywords: Any) -> Option:
    return Option(flag, help, keywords)


@dataclass(frozen=True)
class StageSpec:
    """What a stage reads, writes and depends on."""

    name: str
    does: str  # a sentence: the help text of its command
    jobs: str  # which jobs a plan has for it: see Suite.jobs
    tables: dict[str, str]  # name of a Parquet file it writes -> "module:NAME" of the table's schema
    files: tuple[str, ...] = ()  # what else it writes
    reads: tuple[str, ...] = ()  # its inputs, by name: see Targets
    settings: tuple[str, ...] = ()  # keys of the scenario that its results depend on
    options: tuple[Option, ...] = ()
    reported: tuple[str, ...] = ()  # its tables that the report is made of
    in_tables: bool = True  # they are in the report's tables; otherwise only in figures or on the page
    trains: bool = True  # takes a device: a GPU if there is one
    folder: str = ""  # of its results, where that is not its name
    command: str = ""  # where that is not its name

    @property
    def outputs(self) -> tuple[str, ...]:
        """The files that a job writes to its folder."""
        return (*(f"{table}.parquet" for table in self.tables), *self.files)


def _schemas(**tables: str) -> dict[str, str]:
    return {name: f"sifu.store.schemas:{schema}" for name, schema in tables.items()}


def _experiments(**tables: str) -> dict[str, str]:
    return {name: f"sifu.store.experiment_schemas:{schema}" for name, schema in tables.items()}


def _forgetting(**tables: str) -> dict[str, str]:
    return {name: f"sifu.store.forgetting_schemas:{schema}" for name, schema in tables.items()}


def _oracles(**tables: str) -> dict[str, str]:
    return {name: f"sifu.store.oracle_schemas:{schema}" for name, schema in tables.items()}


_ALL = (
    StageSpec(
        name="partition",
        does="Decide which client holds which example.",
        jobs="blocks",
        tables=_schemas(partition="PARTITION"),
        reads=("data",),
        settings=_PARTITION,
        options=(option("--download", "let torchvision download a missing dataset", action="store_true"),),
        trains=False,
    ),
    StageSpec(
        name="search",
        does="Try values of a method's settings on seeds of their own.",
        jobs="searches",
        tables=_experiments(search="SEARCH"),
        reads=("partition", "search_history", "search_training", "data"),
        settings=(*_TRAIN, "requests"),
        options=(option("--variant", f"{_VARIANT}, with a `search`", required=True),),
        reported=("search",),
    ),
    StageSpec(
        name="scenario_search",
        does="Compare values of a scenario's settings.",
        jobs="scenario_searches",
        tables=_experiments(scenario_search="SCENARIO_SEARCH"),
        reads=("partition", "data"),
        settings=(*_TRAIN, "requests"),
        options=(option("--search", "an entry of the config's `scenario_searches`, as JSON", required=True),),
        reported=("scenario_search",),
    ),
    StageSpec(
        name="train",
        does="Train a federation and keep its history.",
        jobs="blocks",
        tables=_schemas(cells="CELLS", curves="CURVES", sensitivity="SENSITIVITY"),
        files=("history.safetensors",),
        reads=("partition", "data"),
        settings=_TRAIN,
        options=(option("--variant", "train for this variant alone: one whose method has a training of its own"),),
        reported=("cells",),
        in_tables=False,
    ),
    StageSpec(
        name="train_variant",
        does="Train a federation for one method that must be there from the start.",
        jobs="own_trainings",
        tables=_schemas(cells="CELLS", curves="CURVES"),
        files=("history.safetensors",),
        reads=("partition", "search", "data"),
        settings=_TRAIN,
        folder="train",
    ),
    StageSpec(
        name="counterfactual",
        does="Train again without the clients of each request, for certificates to be compared with.",
        jobs="counterfactuals",
        tables={},
        files=("counterfactual.safetensors",),
        reads=("partition", "training_history", "data"),
        settings=(*_TRAIN, "requests"),
    ),
    StageSpec(
        name="unlearn",
        does="Answer every request with one method.",
        jobs="variants",
        tables=_schemas(cells="CELLS", curves="CURVES"),
        files=("weights.safetensors",),
        reads=("partition", "training", "variant_history", "counterfactual", "search", "data"),
        settings=(*_TRAIN, "requests", "budgets", "count_certificates"),
        options=(option("--variant", _VARIANT, required=True),),
        reported=("cells",),
    ),
    StageSpec(
        name="verify",
        does="Measure what every variant kept and forgot.",
        jobs="blocks",
        tables=_schemas(metrics="METRICS", examples="EXAMPLES", verification="VERIFICATION"),
        reads=("partition", "weights", "data"),
        settings=(*_PARTITION, "watermark", "backdoor", "model", "requests", "budgets"),
        options=(option("--variants", "names whose unlearned weights are compared", nargs="+", required=True),),
        reported=("metrics", "verification"),
    ),
    StageSpec(
        name="sweep",
        does="Answer requests with one method under several sigma.",
        jobs="sigma_sweep",
        tables=_experiments(sweep="SWEEP"),
        reads=("partition", "training_history", "data"),
        settings=(*_TRAIN, "requests"),
        options=(
            option("--variant", _VARIANT, required=True),
            option("--sigmas", "standard deviations of the noise", nargs="+", type=float, required=True),
            option("--rounds", _MAXIMUM, type=int),
            option("--requests", "how many requests, the first (default: all)", type=int),
            option("--seeds-end", _SEEDS_END, type=int),
        ),
        reported=("sweep",),
    ),
    StageSpec(
        name="setting_sweep",
        does="Answer the first request with one method under several values of one of its settings.",
        jobs="setting_sweeps",
        tables=_experiments(setting_sweep="SETTING_SWEEP"),
        reads=("partition", "training_history", "data"),
        settings=(*_TRAIN, "requests"),
        options=(
            option("--variant", _VARIANT, required=True),
            option("--setting", "a setting of its method that is a number", required=True),
            option("--values", "its values", nargs="+", type=float, required=True),
            option("--rounds", _MAXIMUM, type=int),
            option("--seeds-end", _SEEDS_END, type=int),
        ),
        reported=("setting_sweep",),
        in_tables=False,
    ),
    StageSpec(
        name="request_sets",
        does="Answer one request of each of several sets of clients.",
        jobs="request_sets",
        tables=_experiments(request_sets="REQUEST_SETS"),
        reads=("partition", "set_histories", "set_searches", "data"),
        settings=(*_TRAIN, "requests"),
        options=(
            option("--variants", "names in variants.yaml", nargs="+", required=True),
            option("--count", "how many sets (default: %(default)s)", type=int, default=10),
            option("--seeds-end", _SEEDS_END, type=int),
        ),
        reported=("request_sets",),
        in_tables=False,
    ),
    StageSpec(
        name="alpha",
        does="Measure how much single clients moved the training.",
        jobs="blocks",
        tables=_experiments(alpha="ALPHA"),
        reads=("partition", "training_history", "data"),
        settings=(*_TRAIN, "alpha_clients"),
        reported=("alpha",),
    ),
    StageSpec(
        name="alpha_sweep",
        does="Train with another federation and measure how much single clients moved it.",
        jobs="alpha_sweep",
        tables=_experiments(alpha="ALPHA"),
        reads=("partition", "data"),
        settings=(*_TRAIN, "alpha_clients"),
        options=(
            option("--name", "name of the change: folder of its results", required=True),
            option("--change", 'keys of the federation as JSON, such as {"momentum": 0.0}', required=True),
            option("--rounds", _MAXIMUM, type=int),
        ),
        reported=("alpha",),
    ),
    StageSpec(
        name="audit",
        does="Count models with and without forgotten clients: the epsilon that they prove.",
        jobs="audits",
        tables=_experiments(audit="AUDIT"),
        reads=("partition", "audit_searches", "data"),
        settings=(*_TRAIN, "requests"),
        options=(
            option("--variants", "names in variants.yaml", nargs="+", required=True),
            option("--models", "models of each world that are counted (default: %(default)s)", type=int, default=5000),
            option("--more-models", "the same where they are told apart without an error", type=int),
            option("--requests", "after which requests (default: 1)", nargs="+", type=int, default=[1]),
            option("--who", "who is forgotten", nargs="+", choices=("request", "client"), default=["request"]),
        ),
        reported=("audit",),
        command="audit_block",
    ),
    StageSpec(
        name="oracles",
        does="Train many models with the clients to forget and with their twins, and keep their margins.",
        jobs="oracles",
        tables=_oracles(margins="MARGINS", points="POINTS"),
        reads=("federation", "oracle_searches", "data"),
        settings=(*_TRAIN, "requests"),
        options=(
            option("--variants", "names in variants.yaml; the original model is there in any case", **_LIST),
            option("--requests", "after which requests (default: 1)", nargs="+", type=int, default=[1]),
            option("--relearn-rounds", "maximum rounds with forgotten clients back", type=int, default=0),
            option("--rounds", _MAXIMUM, type=int),
            option("--federation", "block of the partition, the same for all seeds (default: that of --block)"),
        ),
    ),
    StageSpec(
        name="forgetting",
        does="Test whether many unlearned models differ from retrained ones, and whether they still know the forgotten "
        "clients.",
        jobs="forgetting",
        tables=_forgetting(forgetting="FORGETTING", distances="DISTANCES", power="POWER")
        | _oracles(client_margins="CLIENT_MARGINS"),
        reads=("oracle_margins",),
        settings=(*_TRAIN, "requests"),
        options=(option("--blocks", "blocks of the stage oracles, such as s000-099", **_LIST),),
        reported=("forgetting", "distances", "power"),
        trains=False,
    ),
    StageSpec(
        name="atlas",
        does="Leave each client out in turn: what many trainings remember of it, next to alpha and Psi.",
        jobs="atlas",
        tables=_experiments(atlas="ATLAS"),
        reads=("federation", "data"),
        settings=_TRAIN,
        options=(
            option("--clients", "clients to leave out, such as c000-024: folder of the results", required=True),
            option("--federation", "block of the partition; its first seed's is taken (default: that of --block)"),
        ),
        reported=("atlas",),
        command="atlas_block",
    ),
    StageSpec(
        name="null_space",
        does="The paper's appendix A: fine-tuning an under-determined linear regression never forgets.",
        jobs="once",
        tables=_experiments(null_space="NULL_SPACE"),
        reported=("null_space",),
        in_tables=False,
        trains=False,
    ),
)

WITH_PART = (  # jobs with a part
    *("variants", "own_trainings", "searches", "scenario_searches"),
    *("sigma_sweep", "setting_sweeps", "alpha_sweep", "atlas"),
)
STAGES: dict[str, StageSpec] = {spec.name: spec for spec in _ALL}
