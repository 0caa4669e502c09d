"""Who holds what: the kinds of partition, and the marks that clients put on their images.

Paper symbol: M `num_clients`.
"""

from __future__ import annotations

from typing import ClassVar

from sifu.config.fields import at_least, between, inside, one_of, setting, settings


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
