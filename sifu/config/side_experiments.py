"""The settings of side experiments: sweeps, other sets of clients, audits, and many models of one federation."""

from __future__ import annotations

from sifu.config.block_size import BlockSize, refuse_sizes
from sifu.config.changed_scenario import Change
from sifu.config.fields import above, at_least, from_to, one_of, refuse_repeated, setting, settings
from sifu.errors import ConfigError

_MOST_VALUES = 1000  # of a sweep: they are options of one command


@settings
class SigmaSweep:
    """A variant with several values of sigma (paper, Figure 5); several variants: a list of sweeps."""

    scenarios: tuple[str, ...] = setting("which of the run's scenarios")
    variant: str = setting("name in variants.yaml", default="sifu")
    values: tuple[float, ...] = setting("standard deviations of the noise", above(0))
    rounds: int | None = setting(
        "maximum rounds of a recovery, which may never reach its target under much noise; null: the scenario's",
        at_least(1),
        default=None,
    )
    num_seeds: int | None = setting("with how many of the run's seeds, the first; null: all", at_least(1), default=None)
    requests: int | None = setting(
        "how many of the scenario's requests, the first; null: all", at_least(1), default=None
    )

    def refuse(self) -> None:
        refuse_repeated(self)
        _refuse_empty(self, "values")
        _refuse_values(self.values)


@settings
class SettingSweep:
    """A variant with several values of one of its settings: the first request, before and after its recovery."""

    scenarios: tuple[str, ...] = setting("which of the run's scenarios")
    variant: str = setting(
        "name in variants.yaml, of a variant without a search that starts from the scenario's own training"
    )
    key: str = setting("which setting of its method, a number")
    values: tuple[float, ...] = setting("its values")
    rounds: int | None = setting("maximum rounds of a recovery; null: the scenario's", at_least(1), default=None)
    num_seeds: int | None = setting("with how many of the run's seeds, the first; null: all", at_least(1), default=None)

    def refuse(self) -> None:
        refuse_repeated(self)
        _refuse_empty(self, "values")
        _refuse_values(self.values)


@settings
class RequestSets:
    """One request for each of several sets of clients (paper, Figure 6)."""

    scenarios: tuple[str, ...] = setting("which of the run's scenarios")
    variants: tuple[str, ...] = setting("some of the run's variants")
    count: int = setting(
        "how many sets; if clients hold one class each, at most the number of classes", at_least(1, 10_000), default=10
    )
    num_seeds: int | None = setting("with how many of the run's seeds, the first; null: all", at_least(1), default=None)

    def refuse(self) -> None:
        refuse_repeated(self)
        _refuse_empty(self, "variants")


@settings
class AlphaSweep:
    """alpha and Psi of trainings with other hyper-parameters, which may not converge (paper, Figure 7)."""

    scenarios: tuple[str, ...] = setting("which of the run's scenarios")
    federations: tuple[Change, ...] = setting("changed federations, one training each")
    rounds: int | None = setting(
        "maximum rounds of such a training, which may never reach its target; null: the scenario's",
        at_least(1),
        default=None,
    )

    def refuse(self) -> None:
        refuse_repeated(self)
        for key in ("name", "label"):
            values = [getattr(entry, key) for entry in self.federations]
            if len(set(values)) < len(values):
                raise ConfigError("federations", values, f"each {key} once")


@settings
class Audits:
    """Many models with and without the forgotten clients: the epsilon that counting proves, for the first seed.

    Several, of different scenarios: a list of audits.
    """

    scenarios: tuple[str, ...] = setting("which of the run's scenarios")
    variants: tuple[str, ...] = setting("some of the run's variants")
    models: int = setting(
        "models of each world that are counted; half as many more, at most 1,000, choose the attack",
        at_least(20),
        default=5000,
    )
    more_models: int | None = setting(
        "how many are counted where `models` are told apart without an error and still prove too little; null: no more",
        at_least(20),
        default=None,
    )
    requests: tuple[int, ...] = setting(
        "after which of the scenario's requests the two worlds are compared", at_least(1), default=(1,)
    )
    who: tuple[str, ...] = setting(
        "who is forgotten: all clients of the `request`, or one `client` alone, the first of the first request",
        one_of(("request", "client")),
        default=("request",),
    )

    def refuse(self) -> None:
        refuse_repeated(self)
        _refuse_empty(self, "requests", "who", "variants")
        if self.more_models is not None and self.more_models <= self.models:
            raise ConfigError("more_models", self.more_models, f"more than models ({self.models}), or null")


@settings
class Oracles:
    """Many models of a federation that is the same for all seeds, with the clients to forget and with their twins."""

    scenarios: tuple[str, ...] = setting(
        "which of the run's scenarios; each with `partition: {seed: ..., twins: true}` and requests that are not drawn "
        "by each seed"
    )
    variants: tuple[str, ...] = setting("some of the run's variants; scratch is always one of them")
    models: int = setting(
        "models a world: the seeds first_seed, first_seed + 1, ... More of them later leave earlier blocks as they are",
        from_to(10, 100_000),
        default=200,
    )
    requests: tuple[int, ...] = setting(
        "after which of the scenario's requests the models are compared; each takes a world of twins of its own",
        at_least(1),
        default=(1,),
    )
    relearn_rounds: int = setting(
        "maximum rounds with the forgotten clients back, until they are known again: the relearn time; 0: not measured",
        at_least(0),
        default=0,
    )
    rounds: int | None = setting(
        "maximum rounds of a recovery: some methods never get to the target; null: the scenario's",
        at_least(1),
        default=None,
    )
    block_size: int | None = setting(
        "models of a world that are trained together in one job; null: as many as fit into this machine's memory, at "
        "most 1,000 on a GPU (of networks 200) and 100 on a CPU",
        at_least(1),
        default=None,
    )
    block_sizes: tuple[BlockSize, ...] = setting("scenarios with another block_size", default=())

    def refuse(self) -> None:
        refuse_sizes(self.block_sizes)
        for key in ("requests", "variants"):
            if not getattr(self, key) or len(set(getattr(self, key))) < len(getattr(self, key)):
                raise ConfigError(key, list(getattr(self, key)), "at least one, each once")


@settings
class Atlas:
    """Every client left out in turn, in many trainings of one federation: what each training remembers of it.

    Several, of different scenarios: a list of them.
    """

    scenarios: tuple[str, ...] = setting("which of the run's scenarios, each with the clients of the run's first seed")
    models: int = setting(
        "trainings with and without each client: the seeds first_seed, first_seed + 1, ...",
        from_to(1, 100_000),
        default=100,
    )
    block_size: int = setting(
        "clients of one job, which first trains the federation with all clients; a job that is done is not done again",
        at_least(1),
        default=25,
    )

    def refuse(self) -> None:
        refuse_repeated(self)


def _refuse_empty(part: object, *keys: str) -> None:
    for key in keys:
        if not getattr(part, key):
            raise ConfigError(key, [], "at least one")


def _refuse_values(values: tuple[float, ...]) -> None:
    if len(values) > _MOST_VALUES:
        raise ConfigError("values", f"{len(values)} values", f"at most {_MOST_VALUES}")
