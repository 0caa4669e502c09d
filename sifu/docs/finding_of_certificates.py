"""What the README says of certificates: to whom SIFU's promise is kept, and what a strict one costs."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from sifu.docs.totals_in_words import OF_SCRATCH, cost_range, listed, unanswered, with_cost
from sifu.replication.claims.bound import in_sight
from sifu.replication.claims.stored_tables import DATASETS, StoredTables, total_steps

_KEPT = 1.05  # times the claimed delta: more is a broken promise, less is rounding
_SINGLE = ("mnist_single", "mnist_many")  # a request is a client


def finding_of_certificates(
    tables: StoredTables,
    strict: pd.DataFrame,
    titles: dict[str, str],
    unclipped: Collection[tuple[str, str]] = (),
    *,
    short: bool = False,
) -> str:
    """To whom SIFU promises, each client alone: in how many answers its noise is too small for that, by a strict count
    and as measured where clients leave alone; the same for all clients of a request; what strict SIFU costs.

    `short`: without what else is known of strict SIFU.
    """
    (alone, together), (_, kept) = (_broken(tables, name) for name in ("sifu", "sifu_strict"))
    if alone is None or together is None or kept is None:
        return "**Certificates were not run.**"
    far = pd.concat([tables.too_far(name, "sifu") for name in DATASETS])
    singles = {name: one for name in _SINGLE if len(one := tables.too_far(name, "sifu"))}
    shown = "cannot be shown to hold" if alone else "cannot be shown to cover a request"
    worth = "does not cover a request" if far.any() else shown if alone or together else "covers a request"
    if any(one.mean() > 1 / 2 for one in singles.values()):
        worth = "is not backed by its noise"
    counted = (
        f"It promises to each client alone: by a strict count the noise is too small in {alone:.0%} of the answers."
    )
    measured = f", measured in {far.mean():.0%}" if len(far) else ""
    request = f"For all clients of a request together it is too small in {together:.0%}{measured}."
    costs = _strict_cost(strict, kept)
    more = [*costs, *_measured(tables, titles)] if short else _strict(tables, strict, kept, titles, unclipped)
    link = "[What is counted and assumed](docs/certificates.md)."
    parts = [counted, *_alone(singles, titles), request, *more, link]
    return f"**SIFU's certificate {worth}.** {' '.join(parts)}"


def _alone(singles: dict[str, pd.Series], titles: dict[str, str]) -> list[str]:
    """The same where clients leave one by one."""
    words = listed([f"{one.mean():.0%} on {titles[name]}" for name, one in singles.items()])
    return (
        [f"Where clients leave one by one, it is measured too small, given all draws, in {words}."] if singles else []
    )


def _strict_cost(rows: pd.DataFrame, kept: float) -> list[str]:
    """What strict SIFU costs; `kept`: in which share of its answers a promise to all of a request is broken."""
    strict = with_cost(rows)
    enough = f"enough for a request in {1 - kept:.0%} of its answers if [B = 1](docs/glossary.md)"
    return [f"Strict SIFU takes {cost_range(strict, OF_SCRATCH)}. Its noise is {enough}."] if len(strict) else []


def _strict(
    tables: StoredTables,
    rows: pd.DataFrame,
    kept: float,
    titles: dict[str, str],
    unclipped: Collection[tuple[str, str]] = (),
) -> list[str]:
    """What strict SIFU costs, where it goes back to, and whether what was measured refutes its noise somewhere."""
    strict, parts = with_cost(rows), _strict_cost(rows, kept)
    if len(strict):
        parts += [words.strip() for words in [unanswered(rows, titles, unclipped)] if words]
        parts += _swept(tables, titles)
        parts += _went_back(tables, list(strict["scenario"]))
    return [*parts, *_measured(tables, titles), *_single(tables, titles)]


def _swept(tables: StoredTables, titles: dict[str, str]) -> list[str]:
    """What it costs at the best of other sigmas, where it answered every request with them; where that is known."""
    parts = []
    for name in DATASETS:
        scratch = tables.totals(name, "scratch", "client_steps")
        costs = [
            (total_steps(rows) / scratch).dropna()
            for rows in tables.swept(name, "sifu_strict").values()
            if len(scratch)
        ]
        shares = [float(cost.mean()) for cost in costs if len(cost) > len(scratch) / 2]
        if shares and min(shares) < 1:
            parts.append(f"{min(shares):.0%} on {titles[name]}")
    return [f"At the best other sigma it takes {listed(parts)}."] if parts else []


def _measured(tables: StoredTables, titles: dict[str, str]) -> list[str]:
    """In how many answers, of which datasets, strict SIFU's noise was measured too small for the request."""
    found = []
    for name in (name for name in DATASETS if name in titles):
        far = tables.too_far(name, "sifu_strict")
        if far.any():
            found.append(f"{far.sum()} of {len(far)} answers of {titles[name]}")
    return [f"Measured, it has too little in {listed(found)}."] if found else []


def _single(tables: StoredTables, titles: dict[str, str]) -> list[str]:
    """How many clients it does not hide as measured, each taken as the only one to forget."""
    found = []
    for name in (name for name in DATASETS if name in titles):
        missed, of = in_sight(tables, name, "strict")
        if missed:
            found.append(f"{missed} of {of} clients of {titles[name]}")
    return [f"It does not hide {listed(found)}, each taken as the only one to forget."] if found else []


def _went_back(tables: StoredTables, names: list[str]) -> list[str]:
    """How near to its start strict SIFU goes back: the latest round of any seed; nothing where that is the last."""
    back, last = (
        pd.concat([tables.went_back_to(name, variant) for name in names], ignore_index=True)
        for variant in ("sifu_strict", "fine_tuning")
    )
    latest, rounds = back.max(), last.min()  # fine-tuning starts from the last round
    if not latest < rounds:  # also where one is not known
        return []
    return [
        f"It goes back to round {latest:.0f} or earlier, of the training or of a recovery; the training has at least "
        f"{rounds:,.0f}."
    ]


def _broken(tables: StoredTables, variant: str) -> tuple[float | None, float | None]:
    """The share of a variant's answers that break their promise: to whom it is made, and to all clients of the request
    together. None without an answer.
    """
    return _share_broken(tables, variant, together=False), _share_broken(tables, variant, together=True)


def _share_broken(tables: StoredTables, variant: str, *, together: bool) -> float | None:
    over = pd.concat([tables.promises(name, variant, "delta", together=together) for name in DATASETS])
    return float((over > _KEPT).mean()) if len(over) else None
