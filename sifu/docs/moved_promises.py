"""The promises of every method with empty seats, as before, and with refilled ones; datasets that agree share a row."""

from __future__ import annotations

import math
from collections import defaultdict

from sifu.docs.measured_text import table_text
from sifu.docs.moved import AGAIN, UNCHANGED, UNKNOWN, moved
from sifu.docs.replication_run import MeasuredRun
from sifu.replication.claims.two_counts import AllPromises, Kept, TwoCounts, all_promises
from sifu.replication.claims.verdict import Verdict

_WORDS = {
    Verdict.HOLDS: "kept",
    Verdict.IN_PART: "in part",
    Verdict.FAILS: "broken",
    Verdict.NOT_TESTABLE: "too few seeds",
}
_HEADS = ("method", "seats empty", "seats refilled", "moved", "as promised", "as measured", "seeds that keep it")
_ORDER = {AGAIN: 1, UNKNOWN: 2, UNCHANGED: 3}  # what moved comes first
_NAMED = 2  # methods of a dataset that have no row; more are counted


def moved_promises(run: MeasuredRun) -> str:
    """A sentence that counts them, the table, and what it leaves out."""
    found = all_promises(run.tables.cells)
    if not found.counted:
        return "Not run.\n"
    return "\n".join([_summary(found.counted), _table(found.counted, run), _left_out(found, run)])


def _table(promises: list[TwoCounts], run: MeasuredRun) -> str:
    """A row a method and verdicts, with the datasets that have them."""
    groups: dict[tuple[str, ...], list[TwoCounts]] = defaultdict(list)
    for one in promises:
        groups[one.variant, *map(_word, (one.empty, one.refilled)), _moved(one), *_others(one)].append(one)
    places = {name: place for place, name in enumerate(run.labels)}
    keys = sorted(groups, key=lambda key: (_ORDER.get(key[3], 0), places.get(key[0], len(places))))
    rows = [[run.labels.get(key[0], key[0]), *key[1:], _datasets(groups[key], run)] for key in keys]
    return table_text(rows, *_HEADS)


def _others(one: TwoCounts) -> tuple[str, str]:
    return _word(one.promised), _word(one.measured)


def _moved(one: TwoCounts) -> str:
    return moved(one.empty and one.empty.verdict, one.refilled and one.refilled.verdict, _WORDS)


def _word(kept: Kept | None) -> str:
    return _WORDS[kept.verdict] if kept else "-"


def _datasets(promises: list[TwoCounts], run: MeasuredRun) -> str:
    """`CelebA: 1, now 5 of 5`."""
    places = {name: place for place, name in enumerate(run.titles)}
    rows = sorted(promises, key=lambda one: places.get(one.scenario, len(places)))
    return "; ".join(f"{run.titles.get(one.scenario, one.scenario)}: {_seeds(one)}" for one in rows)


def _seeds(one: TwoCounts) -> str:
    """How many seeds keep every promise, by both counts where they differ."""
    before, now = one.empty or one.refilled, one.refilled or one.empty
    assert before is not None
    assert now is not None
    counts = f"{now.kept}" if before.kept == now.kept else f"{before.kept}, now {now.kept}"
    return f"{counts} of {now.seeds}"


def _summary(promises: list[TwoCounts]) -> str:
    words = [_moved(one) for one in promises]
    same, again, unknown = (words.count(word) for word in (UNCHANGED, AGAIN, UNKNOWN))
    both = len(words) - again - unknown
    return (
        f"Of {both} promises (each of a method on a dataset) that are counted both ways, {same} are judged as before "
        f"and {both - same} moved{_factors(promises)}. {again} have the earlier count alone, {unknown} today's alone.\n"
    )


def _factors(promises: list[TwoCounts]) -> str:
    known = [one.factor for one in promises if not math.isnan(one.factor)]
    return f"; refilled seats change Psi by a factor of {min(known):.2f} to {max(known):.2f} (medians)" if known else ""


def _left_out(found: AllPromises, run: MeasuredRun) -> str:
    """What has no row, and why."""
    exact = "; ".join(dict.fromkeys(run.labels.get(variant, variant) for _, variant in found.exact))
    parts = {
        "without noise, and with nothing to hide by either count": (found.exact, exact),
        "not counted either way": (found.uncounted, _by_dataset(found.uncounted, run)),
        "without a count, as every recovery diverged": (found.diverged, _by_dataset(found.diverged, run)),
    }
    words = [f"- {len(keys)} {why}: {which}." for why, (keys, which) in parts.items() if keys]
    return "\n".join(["Promises that have no row:", *words]) + "\n" if words else ""


def _by_dataset(keys: list[tuple[str, str]], run: MeasuredRun) -> str:
    """`CelebA (Last, as released)`; of many methods their number."""
    groups: dict[str, list[str]] = defaultdict(list)
    for scenario, variant in keys:
        groups[scenario].append(run.labels.get(variant, variant))
    words = {name: "; ".join(some) if len(some) <= _NAMED else f"{len(some)} methods" for name, some in groups.items()}
    return "; ".join(f"{run.titles.get(name, name)} ({text})" for name, text in words.items())
