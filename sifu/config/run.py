"""The settings of a run (config.yaml)."""

from __future__ import annotations

from sifu.config.block_size import BlockSize, refuse_sizes
from sifu.config.fields import (
    at_least,
    from_to,
    inner_folder,
    one_of,
    refuse_repeated,
    setting,
    settings,
)
from sifu.config.search import ScenarioSearch
from sifu.config.side_experiments import AlphaSweep, Atlas, Audits, Oracles, RequestSets, SettingSweep, SigmaSweep
from sifu.errors import ConfigError

PRECISIONS = ("tf32", "float32")
_MOST_NAMES = 500  # scenarios, or variants, of a run: names of all variants are options of one command


@settings
class Only:
    """A scenario that runs only some of the variants. (A list, because Snakemake merges mappings of two configs.)"""

    scenario: str = setting("one of the run's scenarios")
    variants: tuple[str, ...] = setting("some of the run's variants, including `scratch`")

    def refuse(self) -> None:
        refuse_repeated(self)


@settings
class Run:
    """What to run, and where. Nothing here changes a seed's result, except for the rounding of another device."""

    scenarios: tuple[str, ...] = setting("names in scenarios.yaml")
    variants: tuple[str, ...] = setting("names in variants.yaml, including `scratch`, the reference of every gap")
    only: tuple[Only, ...] = setting(
        "scenarios that run only some of the variants; all other scenarios run all of them", default=()
    )
    shown: tuple[str, ...] | None = setting(
        "variants that figures show, to keep them readable; null: all. Tables always show all",
        default=None,
    )
    sigma_sweep: SigmaSweep | tuple[SigmaSweep, ...] | None = setting(
        "a variant with several values of sigma, or a list of such sweeps; null: no sweep", default=None
    )
    setting_sweeps: tuple[SettingSweep, ...] = setting(
        "variants with several values of one of their settings, one sweep a variant", default=()
    )
    request_sets: RequestSets | None = setting(
        "other sets of clients to forget; null: only the scenario's", default=None
    )
    alpha_sweep: AlphaSweep | None = setting(
        "alpha and Psi with other hyper-parameters; null: only the scenario's", default=None
    )
    audits: Audits | tuple[Audits, ...] | None = setting(
        "certificates audited by counting models, or a list of such audits; null: none", default=None
    )
    oracles: Oracles | None = setting(
        "what is forgotten, by many models in two worlds: the tables `margins` and `forgetting`; null: not measured",
        default=None,
    )
    atlas: Atlas | tuple[Atlas, ...] | None = setting(
        "what trainings remember of each client, by leaving it out: the table `atlas`, or a list of such; null: not "
        "measured",
        default=None,
    )
    scenario_searches: tuple[ScenarioSearch, ...] = setting(
        "values of scenarios' settings to compare on seeds that are not reported; the run always uses the scenario's "
        "own values",
        default=(),
    )
    num_seeds: int = setting("how many seeds", from_to(1, 100_000), default=3)
    first_seed: int = setting("the seeds are first_seed, first_seed + 1, ...", from_to(0, 10**9), default=0)
    block_size: int | None = setting(
        "seeds trained together in one job; null: as many as fit into this machine's memory, at most 50 on a GPU and "
        "10 on a CPU. It is part of the results' paths, so set it if several machines share a folder",
        at_least(1),
        default=None,
    )
    block_sizes: tuple[BlockSize, ...] = setting(
        "scenarios with another block_size: a small model trains faster in larger blocks", default=()
    )
    results: str = setting(
        "folder of all results, inside the project's folder (it may be a link)",
        inner_folder(),
        default="results",
    )
    data_root: str | None = setting(
        "folder of the datasets; null: the environment variable SIFU_DATA_ROOT, else `data`", default=None
    )
    download: bool = setting("let torchvision download a missing dataset", default=False)
    missing_data: str = setting(
        "if a dataset is missing: `refuse` the run, or `skip` the scenario with a notice",
        one_of(("refuse", "skip")),
        default="refuse",
    )
    device: str = setting(
        "where to train; `auto` is a GPU if there is one", one_of(("auto", "cpu", "cuda")), default="auto"
    )
    threads: int = setting("CPU threads of a training job", at_least(1, 1024), default=2)
    precision: str = setting(
        "precision of the networks' products on a GPU: `tf32` rounds factors to 10 bits, `float32` is slower",
        one_of(PRECISIONS),
        default="tf32",
    )
    checkpoint_seconds: float = setting(
        "seconds between two checkpoints of a training, from which an interrupted run resumes; longer if writing one "
        "takes more than a hundredth of it",
        at_least(0),
        default=60.0,
    )

    @property
    def sigma_sweeps(self) -> tuple[SigmaSweep, ...]:
        """The sweeps of sigma, one a variant."""
        sweep = self.sigma_sweep
        return (sweep,) if isinstance(sweep, SigmaSweep) else sweep or ()

    @property
    def audits_of(self) -> dict[str, Audits]:
        """The audits by their scenario."""
        return {name: audits for audits in self._audits for name in audits.scenarios}

    @property
    def atlases(self) -> tuple[Atlas, ...]:
        """The parts of the atlas, each with scenarios of its own."""
        return (self.atlas,) if isinstance(self.atlas, Atlas) else self.atlas or ()

    @property
    def _audits(self) -> tuple[Audits, ...]:
        return (self.audits,) if isinstance(self.audits, Audits) else self.audits or ()

    def refuse(self) -> None:
        refuse_repeated(self)
        for key in ("scenarios", "variants"):
            if len(getattr(self, key)) > _MOST_NAMES:
                raise ConfigError(key, f"{len(getattr(self, key))} names", f"at most {_MOST_NAMES}")
        restricted = [entry.scenario for entry in self.only]
        if len(set(restricted)) < len(restricted):
            raise ConfigError("only", restricted, "one entry a scenario")
        for key, sweeps in (("sigma_sweep", self.sigma_sweeps), ("setting_sweeps", self.setting_sweeps)):
            variants = [sweep.variant for sweep in sweeps]
            if len(set(variants)) < len(variants):
                raise ConfigError(key, variants, "one sweep a variant")
        refuse_sizes(self.block_sizes)
        audited = [name for audits in self._audits for name in audits.scenarios]
        if len(set(audited)) < len(audited):
            raise ConfigError("audits", audited, "each scenario once")
        mapped = [name for atlas in self.atlases for name in atlas.scenarios]
        if len(set(mapped)) < len(mapped):
            raise ConfigError("atlas", mapped, "each scenario once")
