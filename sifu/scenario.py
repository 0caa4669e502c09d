"""A scenario: dataset, partition, model, federation, stop rule and requests, as frozen settings.

Paper symbols: M `num_clients`, m `clients_per_round`, K `local_steps`, B `batch_size`, eta `client_lr`.
"""

from __future__ import annotations

from typing import ClassVar

from sifu.data import DATASETS, SOURCES
from sifu.errors import ConfigError
from sifu.models import MODELS
from sifu.settings import above, at_least, between, from_to, inside, one_of, setting, settings


@settings
class Dataset:
    """Which images."""

    name: str = setting("which dataset", one_of(tuple(DATASETS)))
    source: str = setting(
        "where its files come from; `auto` takes torchvision's layout if it is there, else Parquet; "
        "the one used is stamped in every table",
        one_of(("auto", *SOURCES)),
        default="auto",
    )
    verify: bool = setting(
        "compare the files, as packed, with the checksums of the original distribution; switch it off for files that "
        "you trust: torchvision's CIFAR layout is unpickled",
        default=True,
    )


@settings
class OneClass:
    """Client i holds examples of the class i mod (number of classes) alone."""

    kind: ClassVar[str] = "one_class"
    num_clients: int = setting("clients in the federation (M)", at_least(2), default=100)
    examples: int = setting("examples a client, exactly", at_least(1), default=100)


@settings
class Dirichlet:
    """Each client draws its class proportions from a symmetric Dirichlet distribution."""

    kind: ClassVar[str] = "dirichlet"
    num_clients: int = setting("clients in the federation (M)", at_least(2), default=100)
    examples: int = setting("examples a client, exactly", at_least(1), default=100)
    alpha: float = setting("concentration: small is heterogeneous", between(0, 1e6))


@settings
class Natural:
    """A client is a person: a writer or an identity, with all the examples that person has (as LEAF does)."""

    kind: ClassVar[str] = "natural"
    num_clients: int = setting("clients in the federation (M), drawn among the persons", at_least(2), default=100)
    min_examples: int = setting("persons with fewer examples are left out", at_least(1), default=5)

    @property
    def examples(self) -> int:
        """The fewest examples that a client can have."""
        return self.min_examples


@settings
class Iid:
    """Examples are dealt at random."""

    kind: ClassVar[str] = "iid"
    num_clients: int = setting("clients in the federation (M)", at_least(2), default=100)
    examples: int = setting("examples a client, exactly", at_least(1), default=100)


Partition = OneClass | Dirichlet | Natural | Iid


@settings
class Watermark:
    """A few pixels of every image of a client are set to the maximum (paper, section 4.3)."""

    pixels: int = setting("how many pixels, all channels of each", at_least(1), default=10)
    per: str = setting(
        "`client`: a set of its own for each client; `group`: one for all clients with the same i mod 10, "
        "as the paper's code does",
        one_of(("client", "group")),
        default="client",
    )


@settings
class Federation:
    """FedAvg: how a round trains."""

    clients_per_round: int = setting("clients sampled in a round (m)", at_least(1))
    local_steps: int = setting("SGD steps of a sampled client in a round (K)", at_least(1))
    batch_size: int = setting("examples a step (B)", at_least(1))
    client_lr: float = setting("step size of the clients (eta)", above(0))
    momentum: float = setting("momentum of the clients' SGD, started anew each round", from_to(0, 0.999), default=0.9)
    clip: float | None = setting("gradients longer than this are shortened to it; null: never", above(0), default=None)


@settings
class Target:
    """Train until the accuracy on the retained clients' own data reaches a target."""

    accuracy: float = setting("accuracy to reach, as a share", between(0, 1))
    min_rounds: int = setting("rounds before the target may stop a run", at_least(0), default=50)
    max_rounds: int = setting("rounds after which a run that has not reached it stops", at_least(1), default=10_000)

    def refuse(self) -> None:
        if self.min_rounds > self.max_rounds:
            raise ConfigError("min_rounds", self.min_rounds, f"at most max_rounds ({self.max_rounds})")


@settings
class Certificate:
    """The (epsilon, delta) that is asked for, and the noise that pays for it."""

    epsilon: float = setting("epsilon of the unlearning certificate", above(0), default=10.0)
    delta: float = setting("delta of the unlearning certificate", inside(0, 1), default=0.01)
    sigma: float = setting("standard deviation of the noise on each weight", at_least(0))
    contraction: float = setting("B(f, eta) of the sensitivity bound: 1 is the convex case", above(0), default=1.0)
    preset: str = setting(
        "how it is counted: as the paper published it, as its code does it, or so that it holds",
        one_of(("published", "released", "strict")),
        default="published",
    )
    weight: str | None = setting(
        "a client's weight: its share of all clients, or of the round's cohort; null: the preset's",
        one_of(("share", "cohort")),
        default=None,
    )
    sets: str | None = setting(
        "those who leave together: the worst of them, a bound for all, or exactly from their updates; null: preset's",
        one_of(("max", "bound", "exact")),
        default=None,
    )
    branches: str | None = setting(
        "Psi goes on along the lineage, or starts at zero after each request; null: the preset's",
        one_of(("accumulate", "reset")),
        default=None,
    )
    mechanism: str | None = setting(
        "noise by the textbook formula or exactly; null: the preset's", one_of(("classical", "analytic")), default=None
    )


@settings
class ListedRequests:
    """The clients of each request, written out."""

    kind: ClassVar[str] = "listed"
    clients: tuple[tuple[int, ...], ...] = setting("a list of client numbers for each request")


@settings
class ClassRequests:
    """Each request is all clients of one class (needs the partition one_class)."""

    kind: ClassVar[str] = "one_class"
    classes: tuple[int, ...] = setting("the class that leaves at each request", at_least(0))


@settings
class RandomRequests:
    """Each request is a draw among the clients that are still there, another one for each seed."""

    kind: ClassVar[str] = "random"
    num_requests: int = setting("how many requests (U)", at_least(1), default=3)
    size: int = setting("clients in a request", at_least(1), default=10)


Requests = ListedRequests | ClassRequests | RandomRequests


@settings
class Scenario:
    """One federation and the requests that it receives."""

    label: str = setting("name in figures and tables")
    dataset: Dataset = setting("which images")
    partition: Partition = setting("who holds what")
    model: str = setting("which model", one_of(tuple(MODELS)))
    federation: Federation = setting("how a round trains")
    stop: Target = setting("when training and recovery end")
    certificate: Certificate = setting("what is promised to those who leave")
    requests: Requests = setting("who leaves, in which order")
    watermark: Watermark | None = setting("mark each client's images; null: no mark", default=None)
    budgets: tuple[float, ...] = setting(
        "time limits of recovery, as shares of the training cost", between(0, 1), default=()
    )
    alpha_clients: int = setting(
        "clients of each seed whose influence on the training is measured by training without them",
        at_least(0),
        default=3,
    )
    snapshot_every: int = setting("rounds between two kept copies of the weights", at_least(1), default=50)

    def refuse(self) -> None:
        _refuse_sizes(self)
        _refuse_model(self)
        _refuse_partition(self)
        _refuse_requests(self)

    @property
    def num_classes(self) -> int:
        return DATASETS[self.dataset.name].num_classes


def _refuse_sizes(scenario: Scenario) -> None:
    federation, partition = scenario.federation, scenario.partition
    if federation.clients_per_round > partition.num_clients:
        raise ConfigError(
            "federation.clients_per_round",
            federation.clients_per_round,
            f"1 to partition.num_clients ({partition.num_clients})",
        )
    if federation.batch_size > partition.examples:
        raise ConfigError(
            "federation.batch_size",
            federation.batch_size,
            f"1 to the fewest examples a client can have ({partition.examples})",
        )


def _refuse_model(scenario: Scenario) -> None:
    spec = DATASETS[scenario.dataset.name]
    wanted = MODELS[scenario.model].shape
    if wanted is not None and wanted != spec.shape:
        fitting = [name for name, model in MODELS.items() if model.shape in (None, spec.shape)]
        raise ConfigError("model", scenario.model, f"{' | '.join(fitting)} (for images of {spec.shape})")
    if scenario.watermark and scenario.watermark.pixels > spec.shape[1] * spec.shape[2]:
        raise ConfigError("watermark.pixels", scenario.watermark.pixels, f"1 to {spec.shape[1] * spec.shape[2]}")
    source = scenario.dataset.source
    if source != "auto" and source not in spec.sources:
        raise ConfigError("dataset.source", source, f"auto | {' | '.join(spec.sources)} (for {scenario.dataset.name})")


def _refuse_partition(scenario: Scenario) -> None:
    if isinstance(scenario.partition, Natural) and DATASETS[scenario.dataset.name].groups is None:
        named = [name for name, spec in DATASETS.items() if spec.groups]
        if scenario.dataset.source != "parquet":  # a Parquet file may bring its own column `client`
            raise ConfigError(
                "partition.kind", "natural", f"only with a dataset that knows its persons: {' | '.join(named)}"
            )


def request_lists(scenario: Scenario) -> tuple[tuple[int, ...], ...] | None:
    """The clients of each request; None where each seed draws its own."""
    requests = scenario.requests
    if isinstance(requests, ListedRequests):
        return requests.clients
    if isinstance(requests, ClassRequests):
        clients = range(scenario.partition.num_clients)
        return tuple(tuple(c for c in clients if c % scenario.num_classes == k) for k in requests.classes)
    return None


def _refuse_requests(scenario: Scenario) -> None:
    requests, num_clients = scenario.requests, scenario.partition.num_clients
    if isinstance(requests, ClassRequests):
        _refuse_classes(requests, scenario)
    lists = request_lists(scenario)
    if lists is None:
        assert isinstance(requests, RandomRequests)
        leaving = requests.num_requests * requests.size
        if leaving >= num_clients:
            raise ConfigError(
                "requests.size", requests.size, f"someone must remain: {leaving} of {num_clients} clients would leave"
            )
        return
    seen: set[int] = set()
    key = "classes" if isinstance(requests, ClassRequests) else "clients"
    for number, clients in enumerate(lists):
        _refuse_request(f"requests.{key}[{number}]", clients, seen, num_clients)
        seen.update(clients)
    if len(seen) >= num_clients:
        raise ConfigError("requests", requests.kind, f"someone must remain: all {num_clients} clients would leave")


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
