"""What the README says of the replication: its picture, four findings in words, and a short table."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import pandas as pd

from sifu.docs.by_twins import TwinTest, in_a_sentence, twin_tests
from sifu.docs.deviations_of_rules import has_epochs
from sifu.docs.named import scenarios, variants
from sifu.docs.replication_run import trained_on
from sifu.docs.run_so_far import so_far
from sifu.replication.claims.forgetting import BEYOND
from sifu.replication.claims.stored_tables import DATASETS, SHOWN_ONLY, StoredTables, read_tables
from sifu.replication.published import CONFIG, Published, described
from sifu.report.data_used import parts_in_words
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
    """That only a part of some datasets was used, and where all deviations are listed."""
    parts = parts_in_words(trained_on(run.folder))
    table = "[every deviation from the paper](docs/replication/deviations.md)"
    return f"{_so_far(root, run)}{parts} One table has {table}.".strip()


def _so_far(root: Path, run: Published) -> str:
    """Which of the paper's datasets have how many seeds, where some are missing; else nothing."""
    planned, titles = described(root / CONFIG), {name: one.label for name, one in scenarios(root).items()}
    labels = {name: variant["label"] for name, variant in planned["variants"].items()}
    found, wanted = so_far(read_tables(run.folder), titles, labels), len(planned["seeds"])
    if not found.missing_words() and all(count >= wanted for count in found.seeds.values()):
        return ""
    done = ", ".join(f"{label} {count}" for label, count in found.seeds.items())
    old = [titles[name] for name in DATASETS if name in planned["scenarios"] and has_epochs(planned["scenarios"][name])]
    words = f" {' and '.join(old)}: an older run, with other batches and time limits than the paper's." if old else ""
    return f"Seeds so far, of {wanted}: {done}.{words}{found.missing_words()} {_ALL_MISSING} "


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
    remembers = any(test.forgotten == "no" for test in tests)
    marks = bool((marked["gap"] > BEYOND).any())
    where = [
        words for words, told in (("clients carry marks", marks), ("many models were compared", remembers)) if told
    ]
    forgets = f"; where {' or '.join(where)}, it did not forget" if where else ""
    code = f" As the paper's code has it, it takes {_costs(released)}." if len(released) else ""
    text = f"It takes {_costs(sifu, _OF_SCRATCH)}.{code} {_off_scratch(sifu)}{_with_marks(marked)}"
    return f"**{cheaper} than training again{forgets}.** {text}{in_a_sentence(tests, explained=True)}"


def _with_marks(marked: pd.DataFrame) -> str:
    """The same where clients carry marks; after a sentence on accuracy."""
    gaps = marked["gap"].dropna()
    if gaps.empty:
        return ""
    scenarios = "1 scenario" if len(gaps) == 1 else f"{len(gaps)} scenarios"
    return (
        f" Where clients carry marks (watermarks, backdoors), it is {gaps.min():+.2f} to {gaps.max():+.2f} from "
        f"scratch's ({scenarios})."
    )


def _fine_tuning(tuned: pd.DataFrame, tests: list[TwinTest]) -> str:
    if not len(tuned):
        return "**Fine-tuning was not run.**"
    gaps = tuned["gap"].dropna()
    if gaps.empty:
        return f"**Fine-tuning is cheap.** It takes {_costs(tuned)}. {_NO_GAP}{in_a_sentence(tests)}"
    known = gaps > BEYOND
    words = "does not forget" if known.all() else "does not always forget" if known.any() else "forgets"
    return (
        f"**Fine-tuning {words}.** It takes {_costs(tuned)}. Accuracy on the forgotten clients minus scratch's: "
        f"{gaps.min():+.2f} to {gaps.max():+.2f} ({_datasets(gaps)}).{in_a_sentence(tests)}"
    )


def _fed_eraser(eraser: pd.DataFrame, tests: list[TwinTest]) -> str:
    if not len(eraser):
        return "**FedEraser with searched settings was not run.**"
    remembers = any(test.forgotten == "no" for test in tests)
    forgets = bool((eraser["gap"].dropna().abs() <= BEYOND).all()) and not remembers
    head = "FedEraser forgets, and promises nothing." if forgets else "FedEraser does not always forget."
    if eraser["gap"].isna().all() and not tests:
        head = "FedEraser promises nothing."
    text = (
        f"With searched settings it takes {_costs(eraser, _OF_SCRATCH)}. {_off_scratch(eraser)}{in_a_sentence(tests)}"
    )
    return f"**{head}** {text}"


def _off_scratch(totals: pd.DataFrame) -> str:
    """How far from scratch's the accuracy on the forgotten clients is, and on how many datasets that was measured."""
    gaps = totals["gap"].dropna()
    if gaps.empty:
        return _NO_GAP
    return f"Accuracy on the forgotten clients is at most {gaps.abs().max():.2f} from scratch's ({_datasets(gaps)})."


def _certificate(tables: StoredTables, strict: pd.DataFrame) -> str:
    """In how many answers a promise cannot be shown: to each client alone, and to all clients of a request together;
    and in how many these, or a client that leaves alone, were measured to be further away than the noise hides.
    """
    (alone, together), (_, kept) = (_broken(tables, name) for name in ("sifu", "sifu_strict"))
    if alone is None or together is None or kept is None:
        return "**Certificates were not run.**"
    far = pd.concat([tables.too_far(name, "sifu") for name in DATASETS])
    shown = "cannot be shown to hold" if alone else "cannot be shown to cover a request"
    worth = "does not cover a request" if far.any() else shown if alone or together else "covers a request"
    single = tables.too_far(_SINGLE, "sifu")
    one_by_one = (
        " Where clients leave one by one (MNIST, single clients), it is measured further away than the noise hides in "
        f"{single.mean():.0%}."
    )
    if len(single) and single.mean() > 1 / 2:
        worth = "promises more than its noise gives, even to a single client"
    measured = (
        f" Measured, the model before the noise is further from the one without these clients than the noise hides in "
        f"{far.mean():.0%} of the answers."
    )
    cost = ""
    if len(strict):
        back = _went_back(tables, list(strict["scenario"]))
        cost = f" Strict SIFU takes {_costs(strict)}, its spare clients included{back}."
    return (
        f"**SIFU's certificate {worth}.** It promises an (epsilon, delta) to each client alone. Counted strictly, the "
        f"noise is too small for that in {alone:.0%} of the answers, and for all clients of a request together in "
        f"{together:.0%}.{measured if len(far) else ''}{one_by_one if len(single) else ''} Strict SIFU has, by "
        f"construction, enough noise for all clients of a request in {1 - kept:.0%}. Strict counts assume B = 1; "
        f"measurements assume no B, and hold the draws of batches and cohorts fixed.{cost}"
    )


def _went_back(tables: StoredTables, names: list[str]) -> str:
    """To which round of the training strict SIFU goes back: the latest one of any seed and dataset."""
    back, last = (
        pd.concat([tables.went_back_to(name, variant) for name in names], ignore_index=True)
        for variant in ("sifu_strict", "fine_tuning")
    )
    latest, rounds = back.max(), last.min()  # fine-tuning starts from the last round
    return f": it goes back to round {latest:.0f} or before, of {rounds:,.0f} or more" if latest < rounds else ""


def costs(root: Path, run: Published) -> str:
    """A row a method, a column a dataset: client steps relative to scratch's, and the gap of accuracy."""
    tables = read_tables(run.folder)
    places, methods = scenarios(root), variants(root)
    totals = request_totals(tables.cells, tables.metrics).to_dict("records")
    found = {(row["scenario"], row["variant"]): row for row in totals}
    ran = [name for name in (*DATASETS, *SHOWN_ONLY) if (name, "scratch") in found]
    rows = [[methods[variant].label, *(_cell(found.get((name, variant))) for name in ran)] for variant in _ROWS]
    titles = [f"{places[name].label} ({_seeds_and_floor(found[name, 'scratch'])})" for name in ran]
    return markdown(pd.DataFrame(rows, columns=["method", *titles]), "").strip()


def _cell(row: dict[Hashable, Any] | None) -> str:
    """`70%, +0.08`, or in how many seeds the target was reached where these are fewer than half."""
    if row is None:
        return "not run"
    if 2 * row["compared"] < row["seeds"]:
        return f"{row['compared']} of {row['seeds']} seeds"
    gap = "-" if pd.isna(row["gap"]) else f"{row['gap']:+.2f}".replace("-0.00", "+0.00")
    return f"{row['cost']:.0%}, {gap}"


def _seeds_and_floor(row: dict[Hashable, Any]) -> str:
    """How many seeds a dataset has, and the floor of its gaps, where scratch was run again."""
    floor = "" if pd.isna(row["floor"]) else f", floor {row['floor']:.3f}"
    return f"{row['seeds']} {'seed' if row['seeds'] == 1 else 'seeds'}{floor}"


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
