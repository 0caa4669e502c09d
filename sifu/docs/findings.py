"""What the README says of the replication: its picture, four findings in words, and a short table."""

from __future__ import annotations

import math
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import pandas as pd

from sifu.docs.by_twins import TwinTest, in_sentences, twin_tests
from sifu.docs.deviations_of_rules import has_epochs
from sifu.docs.named import scenarios, variants
from sifu.docs.replication_run import trained_on
from sifu.docs.run_so_far import so_far
from sifu.replication.claims.forgetting import BEYOND
from sifu.replication.claims.stored_tables import DATASETS, SHOWN_ONLY, StoredTables, read_tables
from sifu.replication.published import CONFIG, Published, described
from sifu.report.grades import BY_ACCURACY, FORGOTTEN, GRADES, UNKNOWN, Grade, grade
from sifu.report.standings import expected_gaps
from sifu.report.tables import markdown
from sifu.report.totals import request_totals

_ROWS = (
    *("scratch", "fine_tuning", "sifu", "sifu_released", "sifu_strict", "fed_eraser_released"),
    *("fed_eraser_searched", "dp_released"),
)
_KEPT = 1.05  # times the claimed delta: more is a broken promise, less is rounding
_OF_SCRATCH = " of scratch's client steps"
_ALL_MISSING = "[All that is missing](docs/replication/run.md)."
_NO_GAP = "Whether it forgets was not measured."
_SINGLE = "mnist_single"  # a request is a client
_MARKED = ("_watermark", "_backdoor")  # how names of scenarios end whose clients carry marks


def overview(root: Path, run: Published) -> str:
    """The picture of what unlearning costs, and whether the clients were forgotten."""
    path = (run.figures / "overview.png").relative_to(root)
    return f"![what every method costs on every dataset, and whether the clients were forgotten]({path.as_posix()})"


def data(root: Path, run: Published) -> str:
    """What was run so far, which datasets are parts, and where all deviations are listed."""
    parts = [one.label for one in trained_on(run.folder).values() if one.is_part]
    only = f" Of {_and(sorted(parts))} only a part was used." if parts else ""
    table = "[every deviation from the paper](docs/replication/deviations.md)"
    return f"{_so_far(root, run)}{only} One table has {table}.".strip()


def _so_far(root: Path, run: Published) -> str:
    """Which of the paper's datasets have how many seeds, where some are missing; else nothing."""
    planned, titles = described(root / CONFIG), {name: one.label for name, one in scenarios(root).items()}
    labels = {name: variant["label"] for name, variant in planned["variants"].items()}
    found, wanted = so_far(read_tables(run.folder), titles, labels), len(planned["seeds"])
    if not found.missing_words() and all(count >= wanted for count in found.seeds.values()):
        return ""
    done = ", ".join(f"{label} {count}" for label, count in found.seeds.items())
    places = planned["scenarios"]
    old = [titles[name] for name in DATASETS if titles[name] in found.seeds and has_epochs(places[name])]
    words = f" {_and(old)} still {'have' if len(old) > 1 else 'has'} the batches of an older run." if old else ""
    return f"Seeds so far, of {wanted}: {done}.{words}{found.missing_words()} {_ALL_MISSING}"


def _and(names: list[str]) -> str:
    """`A, B and C`."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def findings(root: Path, run: Published) -> str:
    """Four findings of the replication, a line each; their heads follow from the numbers."""
    tables = read_tables(run.folder)
    everything = request_totals(tables.cells, tables.metrics)
    totals = everything[everything["scenario"].isin(DATASETS)]  # the paper's, without marks
    marked = everything[everything["scenario"].str.endswith(_MARKED)]
    names = ("sifu", "fine_tuning", "fed_eraser_searched")
    sifu, tuned, eraser = (twin_tests(root, tables, name) for name in names)
    lines = [
        _sifu(_of(totals, "sifu"), _of(totals, "sifu_released"), _of(marked, "sifu"), sifu),
        _fine_tuning(_of(totals, "fine_tuning"), tuned),
        _fed_eraser(_of(totals, "fed_eraser_searched"), eraser),
        _certificate(tables, _of(totals, "sifu_strict")),
    ]
    return "\n".join(f"{number}. {text}" for number, text in enumerate(lines, start=1))


def _of(totals: pd.DataFrame, variant: str) -> pd.DataFrame:
    """A variant's totals on the datasets where it has a cost in the table; its gap may not be measured there."""
    return totals[(totals["variant"] == variant) & (2 * totals["compared"] >= totals["seeds"]) & totals["cost"].notna()]


def _sifu(sifu: pd.DataFrame, released: pd.DataFrame, marked: pd.DataFrame, tests: list[TwinTest]) -> str:
    if not len(sifu):
        return "**SIFU was not run.**"
    cheaper = "SIFU is cheaper" if (sifu["cost"] < 1).all() else "SIFU is not always cheaper"
    marks = marked["gap"].dropna()
    remembers = any(test.forgotten == "no" for test in tests) or bool((marks > BEYOND).any())
    traces = ", but traces of the clients remain" if remembers else ""
    code = f" As the paper's code has it, it takes {_costs(released)}." if len(released) else ""
    with_marks = ""
    if len(marks):
        scenarios = "1 scenario" if len(marks) == 1 else f"{len(marks)} scenarios"
        with_marks = f" Where clients carry watermarks or backdoors, it is {_above(marks)} scratch's ({scenarios})."
    text = f"It takes {_costs(sifu, _OF_SCRATCH)}.{code} {_off_scratch(sifu)}{with_marks}"
    return f"**{cheaper} than training again{traces}.** {text}{in_sentences(tests, explained=True)}"


def _above(gaps: pd.Series) -> str:
    """`0.06 to 0.91 above`, with signs where some are below."""
    low, high = gaps.min(), gaps.max()
    return f"{low:.2f} to {high:.2f} above" if low >= 0 else f"{low:+.2f} to {high:+.2f} off"


def _fine_tuning(tuned: pd.DataFrame, tests: list[TwinTest]) -> str:
    if not len(tuned):
        return "**Fine-tuning was not run.**"
    gaps, costs = tuned["gap"].dropna(), _costs(tuned, _OF_SCRATCH)
    if gaps.empty:
        return f"**Fine-tuning is cheap.** It takes {costs}. {_NO_GAP}{in_sentences(tests)}"
    known = gaps > BEYOND
    words = "does not forget" if known.all() else "does not always forget" if known.any() else "forgets"
    return (
        f"**Fine-tuning {words}.** It takes {costs}. Its accuracy on forgotten clients is {_above(gaps)} scratch's "
        f"({_datasets(gaps)}).{in_sentences(tests)}"
    )


def _fed_eraser(eraser: pd.DataFrame, tests: list[TwinTest]) -> str:
    if not len(eraser):
        return "**FedEraser with searched settings was not run.**"
    remembers = any(test.forgotten == "no" for test in tests)
    forgets = bool((eraser["gap"].dropna().abs() <= BEYOND).all()) and not remembers
    head = "FedEraser forgets, and promises nothing." if forgets else "FedEraser does not always forget."
    if eraser["gap"].isna().all() and not tests:
        head = "FedEraser promises nothing."
    text = f"With searched settings it takes {_costs(eraser, _OF_SCRATCH)}. {_off_scratch(eraser)}{in_sentences(tests)}"
    return f"**{head}** {text}"


def _off_scratch(totals: pd.DataFrame) -> str:
    """How far from scratch's the accuracy on the forgotten clients is, and on how many datasets that was measured."""
    gaps = totals["gap"].dropna()
    if gaps.empty:
        return _NO_GAP
    within = math.ceil(gaps.abs().max() * 100 - 1e-9) / 100
    return f"Its accuracy on forgotten clients is within {max(within, 0.01):.2f} of scratch's ({_datasets(gaps)})."


def _certificate(tables: StoredTables, strict: pd.DataFrame) -> str:
    """In how many answers a promise cannot be shown, to each client alone or to all of a request together; in how many
    these, or a client that leaves alone, were measured to be further away than the noise hides; what strict SIFU costs.
    """
    (alone, together), (_, kept) = (_broken(tables, name) for name in ("sifu", "sifu_strict"))
    if alone is None or together is None or kept is None:
        return "**Certificates were not run.**"
    far = pd.concat([tables.too_far(name, "sifu") for name in DATASETS])
    single = tables.too_far(_SINGLE, "sifu")
    shown = "cannot be shown to hold" if alone else "cannot be shown to cover a request"
    worth = "does not cover a request" if far.any() else shown if alone or together else "covers a request"
    if len(single) and single.mean() > 1 / 2:
        worth = "promises more than its noise gives, even to a single client"
    parts = [
        f"By a strict count the noise is too small in {alone:.0%} of the answers for each client alone, and in "
        f"{together:.0%} for all clients of a request."
    ]
    if len(far):
        parts.append(f"Measured, it is too small for a request in {far.mean():.0%}.")
    if len(single):
        parts.append(
            f"Where clients leave one by one (MNIST, single clients), it is measured too small in {single.mean():.0%}."
        )
    parts += _strict(tables, strict, kept)
    parts.append("[What is counted and assumed](docs/certificates.md).")
    return f"**SIFU's certificate {worth}.** {' '.join(parts)}"


def _strict(tables: StoredTables, strict: pd.DataFrame, kept: float) -> list[str]:
    """What strict SIFU costs, where it goes back to, and whether what was measured refutes its noise somewhere."""
    parts = []
    if len(strict):
        enough = f"which by construction has enough noise for a request in {1 - kept:.0%}"
        parts.append(f"Strict SIFU, {enough}, takes {_costs(strict, _OF_SCRATCH)}.")
        parts += _went_back(tables, list(strict["scenario"]))
    far = pd.concat([tables.too_far(name, "sifu_strict") for name in DATASETS])
    if far.any():
        parts.append(f"Measured, its noise is too small in {far.mean():.0%}, as B = 1 is an assumption.")
    return parts


def _went_back(tables: StoredTables, names: list[str]) -> list[str]:
    """How near to its start strict SIFU goes back: the latest round of any seed; nothing where that is the last."""
    back, last = (
        pd.concat([tables.went_back_to(name, variant) for name in names], ignore_index=True)
        for variant in ("sifu_strict", "fine_tuning")
    )
    latest, rounds = back.max(), last.min()  # fine-tuning starts from the last round
    return [f"It restarts from round {latest:.0f} or earlier, of at least {rounds:,.0f}."] if latest < rounds else []


def costs(root: Path, run: Published) -> str:
    """A row a method, a column a dataset: client steps relative to scratch's, and how well the clients were forgotten.

    The cheapest method whose clients were forgotten is bold.
    """
    tables = read_tables(run.folder)
    places, methods = scenarios(root), variants(root)
    found = {
        (row["scenario"], row["variant"]): row
        for row in request_totals(tables.cells, tables.metrics).to_dict("records")
    }
    ran = [name for name in (*DATASETS, *SHOWN_ONLY) if (name, "scratch") in found]
    expected = expected_gaps(tables.metrics)
    columns = [_column(name, found, expected.get(name, -math.inf)) for name in ran]
    rows = [[methods[variant].label, *cells] for variant, *cells in zip(_ROWS, *columns, strict=True)]
    titles = [f"{places[name].label} ({_seeds(found[name, 'scratch']['seeds'])})" for name in ran]
    return markdown(pd.DataFrame(rows, columns=["method", *titles]), "").strip()


def _column(scenario: str, found: dict[tuple[Hashable, Hashable], dict[Hashable, Any]], expected: float) -> list[str]:
    """One dataset's cells. `expected`: the gap of a model that forgot nobody, where it was not run."""
    original = found.get((scenario, "original"), {}).get("gap_of_all", expected)
    rows = [found.get((scenario, variant)) for variant in _ROWS]
    signs = [grade(row["gap"], original) if row else UNKNOWN for row in rows]
    good = {
        index: row["cost"]
        for index, (row, sign) in enumerate(zip(rows, signs, strict=True))
        if row and sign is FORGOTTEN and _has_cost(row) and _ROWS[index] != "scratch"
    }
    best = min(good, key=lambda index: good[index]) if good else -1
    cells = [_cell(row, sign) for row, sign in zip(rows, signs, strict=True)]
    return [f"**{cell}**" if index == best else cell for index, cell in enumerate(cells)]


def _has_cost(row: dict[Hashable, Any]) -> bool:
    """Whether most seeds reached the target after every request, and scratch's did."""
    return bool(2 * row["compared"] >= row["seeds"])


def _cell(row: dict[Hashable, Any] | None, sign: Grade) -> str:
    """`70% ~`, or in how many seeds the target was reached where these are fewer than half."""
    if row is None:
        return "not run"
    return f"{row['cost']:.0%} {sign.sign}" if _has_cost(row) else f"{row['compared']} of {row['seeds']} seeds"


def _seeds(count: int) -> str:
    return f"{count} {'seed' if count == 1 else 'seeds'}"


def signs(root: Path, run: Published) -> str:
    """What the signs of the table mean; it is by accuracy alone throughout."""
    return ", ".join(f"{one.sign} {one.words}" for one in GRADES if one is not BY_ACCURACY)


def _costs(totals: pd.DataFrame, of: str = "") -> str:
    """The range of a cost, and on how many datasets."""
    low, high = f"{totals['cost'].min():.0%}", f"{totals['cost'].max():.0%}"
    return f"{low if low == high else f'{low} to {high}'}{of} ({_datasets(totals)})"


def _datasets(rows: pd.DataFrame | pd.Series) -> str:
    return "1 dataset" if len(rows) == 1 else f"{len(rows)} datasets"


def _broken(tables: StoredTables, variant: str) -> tuple[float | None, float | None]:
    """The share of a variant's answers that break their promise: to whom it is made, and to all clients of the request
    together. None without an answer.
    """
    return _share_broken(tables, variant, together=False), _share_broken(tables, variant, together=True)


def _share_broken(tables: StoredTables, variant: str, *, together: bool) -> float | None:
    over = pd.concat([tables.promises(name, variant, "delta", together=together) for name in DATASETS])
    return float((over > _KEPT).mean()) if len(over) else None
