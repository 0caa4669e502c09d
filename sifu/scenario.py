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
        "compare the files, as packed, with the checksums of the original distribution; switch it off for other files "
        "in the same layout",
        default=True,
    )
    scale: str = setting(
        "`standard`: about zero mean and unit variance a channel; `unit`: every image divided by its own length, so "
        "that the constants of a convex loss are known without looking at anybody's data",
        one_of(("standard", "unit")),
        default="standard",
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
class Backdoor:
    """A part of a client's examples carries a trigger and a label of its own choice (Sommer et al. 2022)."""

    pixels: int = setting("pixels of a trigger, all channels of each at the maximum", at_least(1), default=10)
    share: float = setting(
        "share of a client's examples that carry its trigger and its label", between(0, 1), default=0.5
    )
    held_out: int = setting("images that nobody trains on with which a client checks", at_least(1), default=50)
    alpha: float = setting(
        "chance that a client accuses a server that did delete its data", inside(0, 0.5), default=0.001
    )


@settings
class Privacy:
    """Aggregation of DP-FedAvg (McMahan et al. 2018): sum of shortened updates over m, plus noise."""

    update_clip: float = setting("updates longer than this are shortened to it (C)", above(0))
    noise: float = setting("standard deviation of the noise on each weight of the average", at_least(0))


@settings
class Federation:
    """FedAvg: how a round trains."""

    clients_per_round: int = setting("clients sampled in a round (m); the expected number, if Poisson", at_least(1))
    local_steps: int = setting("SGD steps of a sampled client in a round (K)", at_least(1))
    batch_size: int = setting("examples a step (B)", at_least(1))
    client_lr: float = setting("step size of the clients (eta)", above(0))
    momentum: float = setting("momentum of the clients' SGD, started anew each round", from_to(0, 0.999), default=0.9)
    clip: float | None = setting("gradients longer than this are shortened to it; null: never", above(0), default=None)
    weight_decay: float = setting(
        "lambda of the clients' loss, lambda / 2 ||weights||^2 with the bias: makes a convex loss strongly convex",
        at_least(0),
        default=0.0,
    )
    sampling: str = setting(
        "`fixed`: m clients a round; `poisson`: each available one alone, with the same chance",
        one_of(("fixed", "poisson")),
        default="fixed",
    )
    privacy: Privacy | None = setting("shorten and blur the clients' updates; null: plain FedAvg", default=None)


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

    epsilon: float = setting("epsilon of the unlearning certificate", from_to(0.001, 1000), default=10.0)
    delta: float = setting("delta of the unlearning certificate", inside(1e-12, 1), default=0.01)
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
    backdoor: Backdoor | None = setting("give each client a trigger and a label; null: none", default=None)
    budgets: tuple[float, ...] = setting(
        "time limits of recovery, as shares of the training cost", between(0, 1), default=()
    )
    alpha_clients: int = setting(
        "clients of each seed whose influence on the training is measured by training without them",
        at_least(0),
        default=3,
    )
    snapshot_every: int = setting("rounds between two kept copies of the weights", at_least(1), default=50)
    searched_as: str | None = setting(
        "the scenario whose searches for methods' settings count here, too; null: it has its own", default=None
    )

    def refuse(self) -> None:
        from sifu.refusals import refuse_scenario  # which needs the classes of this file

        refuse_scenario(self)

    @property
    def mark(self) -> str:
        """What the clients' images carry: plain | watermark | backdoor."""
        return "watermark" if self.watermark else "backdoor" if self.backdoor else "plain"

    @property
    def num_classes(self) -> int:
        return DATASETS[self.dataset.name].num_classes


def request_lists(scenario: Scenario) -> tuple[tuple[int, ...], ...] | None:
    """The clients of each request; None where each seed draws its own."""
    requests = scenario.requests
    if isinstance(requests, ListedRequests):
        return requests.clients
    if isinstance(requests, ClassRequests):
        clients = range(scenario.partition.num_clients)
        return tuple(tuple(c for c in clients if c % scenario.num_classes == k) for k in requests.classes)
    return None
