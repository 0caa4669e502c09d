"""A scenario: dataset, partition, model, federation, stop rule and requests. Impossible combinations are refused."""

from __future__ import annotations

from sifu.catalog.datasets import DATASETS, SOURCES
from sifu.catalog.models import MODELS
from sifu.config.certificate import Certificate
from sifu.config.federation import Federation, Target
from sifu.config.fields import at_least, between, one_of, setting, settings, shown_name
from sifu.config.known import known
from sifu.config.partition import Backdoor, Natural, OneClass, Partition, Watermark
from sifu.config.requests import ClassRequests, GroupRequests, ListedRequests, RandomRequests, Requests
from sifu.errors import ConfigError

_MOST_EXAMPLES = 10_000_000  # fifty times the largest dataset


@settings
class Dataset:
    """Which images."""

    name: str = setting("which dataset", known(DATASETS))
    source: str = setting(
        "where its files come from; `auto` uses torchvision's layout if it exists, else Parquet or a subset; "
        "every table records which one was used",
        one_of(("auto", *SOURCES)),
        default="auto",
    )
    verify: bool = setting(
        "compare the packed files with the checksums of the original distribution; false for other files in the same "
        "layout",
        default=True,
    )
    scale: str = setting(
        "`standard`: about zero mean and unit variance per channel; `released`: by the numbers of the paper's code; "
        "`unit`: every image divided by its norm, so that the constants of a convex loss do not depend on the data",
        one_of(("standard", "released", "unit")),
        default="standard",
    )


@settings
class Scenario:
    """One federation and the requests that it receives."""

    label: str = setting("name in figures and tables", shown_name())
    dataset: Dataset = setting("which images")
    partition: Partition = setting("which client holds which examples")
    model: str = setting("which model", known(MODELS))
    federation: Federation = setting("how a round trains")
    stop: Target = setting("when training and recovery end")
    certificate: Certificate = setting("what is promised to the forgotten clients")
    requests: Requests = setting("which clients are forgotten, in which order")
    watermark: Watermark | None = setting("mark each client's images; null: no marks", default=None)
    backdoor: Backdoor | None = setting("give each client a trigger and a label; null: no triggers", default=None)
    budgets: tuple[float, ...] = setting(
        "limits of recovery, as shares of the training's client steps", between(0, 1), default=()
    )
    count_certificates: bool = setting(
        "replay the past without the forgotten clients, to say what each certificate is worth; that takes as long as "
        "two or three recoveries",
        default=True,
    )
    alpha_clients: int = setting(
        "clients of each seed whose influence on the training is measured by training without them",
        at_least(0),
        default=3,
    )
    snapshot_every: int = setting("rounds between two snapshots of the weights", at_least(1, 10_000), default=50)
    searched_as: str | None = setting(
        "scenario whose searches for methods' settings are used here, too; null: its own searches", default=None
    )

    def refuse(self) -> None:
        _refuse_scenario(self)

    @property
    def mark(self) -> str:
        """The kind of mark on the clients' images: plain | watermark | backdoor."""
        return "watermark" if self.watermark else "backdoor" if self.backdoor else "plain"

    @property
    def num_classes(self) -> int:
        return DATASETS[self.dataset.name].num_classes


def fixed_federation(scenario: Scenario) -> bool:
    """Whether all seeds have the same clients, with the same data, and the same requests."""
    requests = scenario.requests
    drawn = isinstance(requests, RandomRequests) and requests.seed is None
    return scenario.partition.seed is not None and scenario.mark == "plain" and not drawn


def refuse_moving(name: str, scenario: Scenario) -> None:
    """Refuse a scenario for the oracles in which seeds have other data or other requests, or that has no twins."""
    if not fixed_federation(scenario):
        words = "a federation that is the same for all seeds: partition.seed, and requests.seed if they are random"
        raise ConfigError("oracles.scenarios", name, f"{words}; no watermark, no backdoor")
    if not scenario.partition.twins:
        raise ConfigError("oracles.scenarios", name, "a scenario with partition: {twins: true}")


def request_lists(scenario: Scenario) -> tuple[tuple[int, ...], ...] | None:
    """The clients of each request; None where each seed draws its own."""
    requests = scenario.requests
    if isinstance(requests, ListedRequests):
        return requests.clients
    if isinstance(requests, ClassRequests):
        clients = range(scenario.partition.num_clients)
        return tuple(tuple(c for c in clients if c % scenario.num_classes == k) for k in requests.classes)
    if isinstance(requests, GroupRequests):
        clients = range(scenario.partition.num_clients)
        return tuple(tuple(c for c in clients if c % requests.groups == k) for k in requests.which)
    return None


def _refuse_scenario(scenario: Scenario) -> None:
    """Raise a ConfigError that names the key, its value and what would be allowed."""
    _refuse_sizes(scenario)
    _refuse_model(scenario)
    _refuse_partition(scenario)
    _refuse_requests(scenario)
    percents = [share * 100 for share in scenario.budgets]
    if any(abs(p - round(p)) > 1e-6 for p in percents) or len({round(p) for p in percents}) < len(percents):
        raise ConfigError("budgets", list(scenario.budgets), "different shares in whole per cents, such as 0.25")


def _refuse_sizes(scenario: Scenario) -> None:
    federation, partition = scenario.federation, scenario.partition
    if federation.clients_per_round > partition.num_clients:
        raise ConfigError(
            "federation.clients_per_round",
            federation.clients_per_round,
            f"1 to partition.num_clients ({partition.num_clients})",
        )
    if partition.num_clients * partition.examples > _MOST_EXAMPLES:
        some = f"at most {_MOST_EXAMPLES} over all {partition.num_clients} clients"
        raise ConfigError("partition.examples", partition.examples, some)
    if federation.batch_size > partition.examples:
        raise ConfigError(
            "federation.batch_size",
            federation.batch_size,
            f"1 to the fewest examples a client can have ({partition.examples})",
        )


def _refuse_model(scenario: Scenario) -> None:
    spec = DATASETS[scenario.dataset.name]
    if not MODELS[scenario.model].takes(spec.shape):
        fitting = [name for name, model in MODELS.own.items() if model.takes(spec.shape)]
        raise ConfigError("model", scenario.model, f"{' | '.join(fitting)} (for images of {spec.shape})")
    if scenario.watermark and scenario.watermark.pixels > spec.shape[1] * spec.shape[2]:
        raise ConfigError("watermark.pixels", scenario.watermark.pixels, f"1 to {spec.shape[1] * spec.shape[2]}")
    if scenario.backdoor and scenario.backdoor.pixels > spec.shape[1] * spec.shape[2]:
        raise ConfigError("backdoor.pixels", scenario.backdoor.pixels, f"1 to {spec.shape[1] * spec.shape[2]}")
    if scenario.backdoor and scenario.watermark:
        raise ConfigError("backdoor", "set", "null with a watermark: a mark and a trigger would hide each other")
    if scenario.dataset.scale == "released" and spec.released_scale is None:
        raise ConfigError("dataset.scale", "released", f"standard | unit (with {scenario.dataset.name})")
    source = scenario.dataset.source
    if source != "auto" and source not in spec.sources:
        raise ConfigError("dataset.source", source, f"auto | {' | '.join(spec.sources)} (for {scenario.dataset.name})")


def _refuse_partition(scenario: Scenario) -> None:
    if scenario.partition.twins and scenario.mark != "plain":
        raise ConfigError("partition.twins", True, f"false with a {scenario.mark}: a twin would have the client's mark")
    if isinstance(scenario.partition, Natural) and DATASETS[scenario.dataset.name].groups is None:
        named = [name for name, spec in DATASETS.own.items() if spec.groups]
        if scenario.dataset.source != "parquet":  # a Parquet file may bring its own column `client`
            raise ConfigError(
                "partition.kind", "natural", f"only with a dataset that names its persons: {' | '.join(named)}"
            )


def _refuse_requests(scenario: Scenario) -> None:
    requests, num_clients = scenario.requests, scenario.partition.num_clients
    if isinstance(requests, ClassRequests):
        _refuse_classes(requests, scenario)
    lists = request_lists(scenario)
    if lists is None:
        assert isinstance(requests, RandomRequests)
        forgotten = requests.num_requests * requests.size
        if forgotten >= num_clients:
            raise ConfigError(
                "requests.size",
                requests.size,
                f"some clients must remain: {forgotten} of {num_clients} would be forgotten",
            )
        return
    seen: set[int] = set()
    key = {ClassRequests: "classes", GroupRequests: "which"}.get(type(requests), "clients")
    for number, clients in enumerate(lists):
        _refuse_request(f"requests.{key}[{number}]", clients, seen, num_clients)
        seen.update(clients)
    if len(seen) >= num_clients:
        raise ConfigError("requests", requests.kind, f"some clients must remain: all {num_clients} would be forgotten")


def _refuse_classes(requests: ClassRequests, scenario: Scenario) -> None:
    if not isinstance(scenario.partition, OneClass):
        raise ConfigError("requests.kind", requests.kind, "listed | random (one_class needs partition.kind one_class)")
    for number, label in enumerate(requests.classes):
        if label >= scenario.num_classes or label in requests.classes[:number]:
            raise ConfigError(
                f"requests.classes[{number}]",
                label,
                f"each of the classes 0 to {scenario.num_classes - 1} at most once",
            )


def _refuse_request(key: str, clients: tuple[int, ...], seen: set[int], num_clients: int) -> None:
    if not clients:
        raise ConfigError(key, list(clients), "at least one client")
    for client in clients:
        if not 0 <= client < num_clients:
            raise ConfigError(key, client, f"clients 0 to {num_clients - 1}")
        if client in seen or clients.count(client) > 1:
            raise ConfigError(key, client, "each client at most once over all requests")
