"""A catalog: entries of this package by name, those of other installed packages, and any "module:name"."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import TypeVar

from sifu.catalog.entry_points import brought
from sifu.errors import SifuError

T = TypeVar("T")


class Catalog(MutableMapping[str, T]):
    """Looks an entry up: a name of this package, a name that another package brings, or "module:name" itself.

    Listing it reads no module. `own` are the entries of this package alone.
    """

    def __init__(self, kind: str, own: dict[str, T], make: Callable[[str], T]) -> None:
        """`kind`: methods, models, datasets or metrics; `make`: the entry that "module:name" stands for."""
        self.kind, self.own, self._make = kind, own, make

    def target(self, name: str) -> str | None:
        """The "module:name" of an entry from outside; None for one of this package."""
        if ":" in name:
            return name
        found = [one for one in brought(self.kind) if one.name == name]
        places = [f"{one.target} of the package {one.package}" for one in found]
        places = [f"sifu/catalog/{self.kind}.py", *places] if name in self.own else places
        if not places:
            raise KeyError(name)
        if len(places) > 1:
            raise SifuError(
                f"the name {name} ({self.kind}) is taken twice, by {' and by '.join(places)}: uninstall or rename one"
            )
        return found[0].target if found else None

    def __getitem__(self, name: str) -> T:
        target = self.target(name)
        return self.own[name] if target is None else self._make(target)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (":" in name or name in self.names())

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def __setitem__(self, name: str, entry: T) -> None:
        self.own[name] = entry

    def __delitem__(self, name: str) -> None:
        del self.own[name]

    def names(self) -> list[str]:
        """The names of this package, then those that others bring."""
        return list(dict.fromkeys([*self.own, *(one.name for one in brought(self.kind))]))
