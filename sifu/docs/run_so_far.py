"""Which of the paper's datasets were run: with how many seeds, or which part of the methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sifu.replication.claims.stored_tables import DATASETS, REFERENCE, StoredTables

_TRAINING = "original"  # the variant that is the training itself


class SoFar(NamedTuple):
    """The paper's datasets by their titles: those with scratch, those with other methods alone, and the rest."""

    seeds: dict[str, int]
    in_part: dict[str, str]  # what was run, in words; without scratch nothing can be compared
    not_run: list[str]

    def missing_words(self) -> str:
        """` Not run: A. Run in part: B (what of it).`; empty where every dataset has scratch."""
        part = "; ".join(f"{title} ({words})" for title, words in self.in_part.items())
        none = ", ".join(self.not_run)
        return (f" Not run: {none}." if none else "") + (f" Run in part: {part}." if part else "")


def so_far(tables: StoredTables, titles: Mapping[str, str], labels: Mapping[str, str]) -> SoFar:
    """What there is of each of the paper's datasets; `titles` and `labels` are those of scenarios and variants."""
    found = SoFar({}, {}, [])
    for name in DATASETS:
        seeds, words = tables.ran(name, REFERENCE), _methods(tables, name, labels)
        if seeds:
            found.seeds[titles[name]] = seeds
        elif words:
            found.in_part[titles[name]] = words
        else:
            found.not_run.append(titles[name])
    return found


def _methods(tables: StoredTables, scenario: str, labels: Mapping[str, str]) -> str:
    """`training and 2 methods, 3 seeds, without scratch: ...`; empty where nothing was run."""
    own = tables.cells[tables.cells["scenario"] == scenario]
    if own.empty:
        return ""
    ran = set(own["variant"]) - {_TRAINING}
    names = [label for name, label in labels.items() if name in ran]
    count = f" and {len(names)} method{'s' if len(names) > 1 else ''}" if names else ""
    return f"training{count}, {own['seed'].nunique()} seeds, without scratch{': ' if names else ''}{'; '.join(names)}"
