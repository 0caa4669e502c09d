"""The kinds of partition, and the marks that clients put on their images.

Paper symbol: M `num_clients`.
"""

from __future__ import annotations

from typing import ClassVar

from sifu.config.fields import at_least, between, from_to, inside, one_of, setting, settings
from sifu.errors import ConfigError

_SEED = "the seed that draws the partition of all seeds; null: each seed draws its own"
_REPLACEMENT = (
    "draw each client's examples with replacement, by the draws of the paper's code: clients overlap. With `seed: 42` "
    "(one_class: 0) on the whole dataset it is that code's partition"
)
_SERVER = (
    "share of the training images that goes to the server before the clients get theirs, drawn by the same seed; "
    "for methods that need data at the server"
)
_TWINS = (
    "draw a twin for each client of a request: other images of the same classes, held by nobody, which take the "
    "client's seat in the other world of the stage `oracles`"
)
_HALF = from_to(0, 0.5)
_CLIENTS = at_least(2, 100_000)


def _refuse_overlapping_twins(twins: bool, replacement: bool) -> None:
    """A twin holds images that nobody holds; clients drawn with replacement may share theirs, so they are not alike."""
    if twins and replacement:
        raise ConfigError("twins", True, "false with replacement: true, as clients may share images and twins do not")


@settings
class OneClass:
    """Client i holds only examples of class i mod (number of classes)."""

    kind: ClassVar[str] = "one_class"
    num_clients: int = setting("clients in the federation (M)", _CLIENTS, default=100)
    examples: int = setting("examples per client, exactly", at_least(1), default=100)
    replacement: bool = setting(_REPLACEMENT, default=False)
    seed: int | None = setting(_SEED, at_least(0, 10**9), default=None)
    server_share: float = setting(_SERVER, _HALF, default=0.0)
    twins: bool = setting(_TWINS, default=False)

    def refuse(self) -> None:
        _refuse_overlapping_twins(self.twins, self.replacement)


@settings
class Dirichlet:
    """Each client draws its class proportions from a symmetric Dirichlet distribution."""

    kind: ClassVar[str] = "dirichlet"
    num_clients: int = setting("clients in the federation (M)", _CLIENTS, default=100)
    examples: int = setting("examples per client, exactly", at_least(1), default=100)
    alpha: float = setting("concentration: small is heterogeneous", between(0, 1e6))
    replacement: bool = setting(_REPLACEMENT, default=False)
    seed: int | None = setting(_SEED, at_least(0, 10**9), default=None)
    server_share: float = setting(_SERVER, _HALF, default=0.0)
    twins: bool = setting(_TWINS, default=False)

    def refuse(self) -> None:
        _refuse_overlapping_twins(self.twins, self.replacement)


@settings
class Natural:
    """Each client is a person (a writer or an identity) with all their examples, as in LEAF."""

    kind: ClassVar[str] = "natural"
    num_clients: int = setting("clients in the federation (M), drawn among the persons", _CLIENTS, default=100)
    min_examples: int = setting("persons with fewer examples are left out", at_least(1), default=5)
    max_examples: int | None = setting(
        "a person's first so many examples are taken; null: all", at_least(1), default=None
    )
    order: str = setting(
        "which persons: `drawn` at random, or the `first` by their numbers, as in the paper's code",
        one_of(("drawn", "first")),
        default="drawn",
    )
    seed: int | None = setting(_SEED, at_least(0, 10**9), default=None)
    server_share: float = setting(_SERVER, _HALF, default=0.0)
    twins: bool = setting(_TWINS, default=False)

    def refuse(self) -> None:
        if self.twins and self.order == "first":
            raise ConfigError("twins", True, "false with order: first, as the next persons would not be drawn alike")

    @property
    def examples(self) -> int:
        """The fewest examples that a client can have."""
        return self.min_examples


@settings
class Iid:
    """Examples are distributed at random."""

    kind: ClassVar[str] = "iid"
    num_clients: int = setting("clients in the federation (M)", _CLIENTS, default=100)
    examples: int = setting("examples per client, exactly", at_least(1), default=100)
    seed: int | None = setting(_SEED, at_least(0, 10**9), default=None)
    server_share: float = setting(_SERVER, _HALF, default=0.0)
    twins: bool = setting(_TWINS, default=False)


Partition = OneClass | Dirichlet | Natural | Iid


@settings
class Watermark:
    """A few pixels of every image of a client are set to the maximum (paper, section 4.3)."""

    pixels: int = setting("how many pixels, all channels of each", at_least(1), default=10)
    per: str = setting(
        "`client`: each client has its own set of pixels; `group`: clients with the same i mod 10 share one, "
        "as in the paper's code",
        one_of(("client", "group")),
        default="client",
    )
    as_released: bool = setting(
        "as in the paper's code: its places, one channel of each, set to the image's own maximum (needs `per: group`)",
        default=False,
    )

    def refuse(self) -> None:
        if self.as_released and self.per != "group":
            raise ConfigError("per", self.per, "group, with as_released: true")
        if self.as_released and self.pixels != 10:
            raise ConfigError("pixels", self.pixels, "10, with as_released: true")


@settings
class Backdoor:
    """A share of each client's examples has a trigger and a label that the client chose (Sommer et al. 2022)."""

    pixels: int = setting("pixels of a trigger, set to the maximum in all channels", at_least(1), default=10)
    share: float = setting(
        "share of a client's examples that have its trigger and its label", between(0, 1), default=0.5
    )
    held_out: int = setting("held-out images that a client checks with", at_least(1), default=50)
    alpha: float = setting("accepted probability that a client accuses an honest server", inside(0, 0.5), default=0.001)
