"""What the README says of the replication: its picture, four findings in words, and a short table."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from sifu.core.types import Status
from sifu.docs.by_twins import TwinTest, in_sentences, twin_tests
from sifu.docs.deviations_of_rules import has_epochs
from sifu.docs.finding_of_certificates import finding_of_certificates
from sifu.docs.finding_of_sifu import finding_of_sifu
from sifu.docs.named import scenarios, variants
from sifu.docs.replication_run import trained_on
from sifu.docs.run_so_far import so_far
from sifu.docs.totals_in_words import (
    NO_GAP,
    OF_SCRATCH,
    above_scratch,
    cost_range,
    datasets,
    listed,
    off_scratch,
    with_cost,
)
from sifu.replication.claims.forgetting import BEYOND
from sifu.replication.claims.sigma import SWEPT
from sifu.replication.claims.stored_tables import DATASETS, SHOWN_ONLY, StoredTables, read_tables
from sifu.replication.published import CONFIG, Published, described, read_manifest
from sifu.report.grades import BY_ACCURACY, FORGOTTEN, GRADES, UNKNOWN, Grade, grade
from sifu.report.old_clipping import not_clipped, old_clipping, since_clipped
from sifu.report.standings import expected_gaps
from sifu.report.tables import markdown
from sifu.report.totals import request_totals
from sifu.store.paths import manifest_file

_ROWS = (
    *("scratch", "fine_tuning", "sifu", "sifu_released", "sifu_strict", "last_released", "fed_eraser_released"),
    "fed_eraser_searched",
)
_ALL_MISSING = "[All that is missing](docs/replication/run.md)."
_LOST = "†"
_MARKED = ("_watermark", "_backdoor")  # how names of scenarios end whose clients carry marks


def data(root: Path, run: Published) -> str:
    """What was run so far, which datasets are parts, and where all deviations are listed."""
    parts = [one.label for one in trained_on(run.folder).values() if one.is_part]
    only = f" Of {listed(sorted(parts))} only a part was used." if parts else ""
    table = "[every deviation from the paper](docs/replication/deviations.md)"
    return f"{_so_far(root, run)}{only}{_not_clipped(root, run)} One table has {table}.".strip()


def _manifest(run: Published) -> Mapping[str, Any] | None:
    return read_manifest(run.folder) if manifest_file(run.folder).exists() else None


def _main(root: Path) -> dict[str, Any]:
    """The settings of the paper's datasets."""
    planned = described(root / CONFIG)["scenarios"]
    return {name: planned[name] for name in DATASETS if name in planned}


def _unclipped(root: Path, run: Published) -> list[str]:
    """Scenarios whose rows lack the clipping of the released code."""
    return not_clipped(_main(root), _manifest(run))


def _not_clipped(root: Path, run: Published) -> str:
    """Which rows lack the clipping of the released code; it decides what becomes of models that explode."""
    manifest, main = _manifest(run), _main(root)
    titles = {name: one.label for name, one in scenarios(root).items()}
    words = old_clipping(main, manifest, lambda names: listed([titles[name] for name in names]))
    return f" {words}{_swept(read_tables(run.folder), main, manifest, titles)}" if words else ""


def _swept(
    tables: StoredTables, main: Mapping[str, Any], manifest: Mapping[str, Any] | None, titles: Mapping[str, str]
) -> str:
    """How often SIFU as released recovers in sweeps that were clipped, where its main rows were not."""
    words = ""
    for name in since_clipped("sweep", main, manifest):
        rows = tables.sweep[(tables.sweep["scenario"] == name) & (tables.sweep["variant"] == SWEPT)]
        if len(rows):
            done = int((rows["status"] == Status.DONE.value).sum())
            words += f" There SIFU as released recovers on {titles[name]} in {done} of {len(rows)} first requests."
    return words


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
    words = f" {listed(old)} still {'have' if len(old) > 1 else 'has'} the batches of an older run." if old else ""
    return f"Seeds so far, of {wanted}: {done}.{words}{found.missing_words()} {_ALL_MISSING}"


def findings(root: Path, run: Published, *, short: bool = False) -> str:
    """Four findings of the replication, a line each; their heads follow from the numbers. `short`: with the numbers
    alone that a head needs.
    """
    tables = read_tables(run.folder)
    everything = request_totals(tables.cells, tables.metrics)
    totals = everything[everything["scenario"].isin(DATASETS)]  # the paper's, without marks
    marked = everything[everything["scenario"].str.endswith(_MARKED)]
    names = ("sifu", "fine_tuning", "fed_eraser_searched")
    sifu, tuned, eraser = (twin_tests(root, tables, name) for name in names)
    titles, unclipped = {name: place.label for name, place in scenarios(root).items()}, _unclipped(root, run)
    lines = [
        finding_of_sifu(totals, marked, sifu, titles, unclipped, short=short),
        _fine_tuning(_of(totals, "fine_tuning"), tuned),
        _fed_eraser(_of(totals, "fed_eraser_searched"), eraser),
        finding_of_certificates(tables, _all_of(totals, "sifu_strict"), titles, unclipped, short=short),
    ]
    return "\n".join(f"{number}. {text}" for number, text in enumerate(lines, start=1))


def findings_in_short(root: Path, run: Published) -> str:
    """The same for the README."""
    return findings(root, run, short=True)


def findings_in_full(root: Path, run: Published) -> str:
    """The same for docs/findings.md, from which links lead to other pages of its folder."""
    return findings(root, run).replace("](docs/", "](")


def _all_of(totals: pd.DataFrame, variant: str) -> pd.DataFrame:
    return totals[totals["variant"] == variant]


def _of(totals: pd.DataFrame, variant: str) -> pd.DataFrame:
    """A variant's totals where it has a cost."""
    return with_cost(_all_of(totals, variant))


def _fine_tuning(tuned: pd.DataFrame, tests: list[TwinTest]) -> str:
    if not len(tuned):
        return "**Fine-tuning was not run.**"
    gaps, costs = tuned["gap"].dropna(), cost_range(tuned, OF_SCRATCH)
    if gaps.empty:
        return f"**Fine-tuning is cheap.** It takes {costs}. {NO_GAP}{in_sentences(tests)}"
    known = gaps > BEYOND
    words = "does not forget" if known.all() else "does not always forget" if known.any() else "forgets"
    return (
        f"**Fine-tuning {words}.** It takes {costs}. Its accuracy on forgotten clients is {above_scratch(gaps)} "
        f"scratch's ({datasets(gaps)}).{in_sentences(tests)}"
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
        f"With searched settings it takes {cost_range(eraser, OF_SCRATCH)}. {off_scratch(eraser)}{in_sentences(tests)}"
    )
    return f"**{head}** {text}"


def costs(root: Path, run: Published) -> str:
    """A row a method, a column a dataset: client steps relative to scratch's, and how well the clients were forgotten.

    The cheapest of these methods whose clients were forgotten, and that reached the target in all seeds, is bold.
    """
    tables = read_tables(run.folder)
    places, methods = scenarios(root), variants(root)
    found = {
        (row["scenario"], row["variant"]): row
        for row in request_totals(tables.cells, tables.metrics).to_dict("records")
    }
    ran = [name for name in (*DATASETS, *SHOWN_ONLY) if (name, "scratch") in found]
    expected, unclipped = expected_gaps(tables.metrics), _unclipped(root, run)
    columns = [_column(name, found, expected.get(name, -math.inf), _LOST if name in unclipped else "") for name in ran]
    rows = [[methods[variant].label, *cells] for variant, *cells in zip(_ROWS, *columns, strict=True)]
    titles = [f"{places[name].label} ({_seeds(found[name, 'scratch']['seeds'])})" for name in ran]
    return markdown(pd.DataFrame(rows, columns=["method", *titles]), "").strip()


def _column(
    scenario: str, found: dict[tuple[Hashable, Hashable], dict[Hashable, Any]], expected: float, mark: str
) -> list[str]:
    """One dataset's cells. `expected`: the gap of a model that forgot nobody, where it was not run. `mark`: of cells
    that lack seeds.
    """
    original = found.get((scenario, "original"), {}).get("gap_of_all", expected)
    rows = [found.get((scenario, variant)) for variant in _ROWS]
    signs = [grade(row["gap"], original) if row else UNKNOWN for row in rows]
    signs[_ROWS.index("scratch")] = FORGOTTEN  # also where accuracy could not tell
    good = {
        index: row["cost"]
        for index, (row, sign) in enumerate(zip(rows, signs, strict=True))
        if row and sign is FORGOTTEN and row["compared"] == row["seeds"] and _ROWS[index] != "scratch"
    }
    best = min(good, key=lambda index: good[index]) if good else -1
    cells = [_cell(row, sign, mark) for row, sign in zip(rows, signs, strict=True)]
    return [f"**{cell}**" if index == best else cell for index, cell in enumerate(cells)]


def _has_cost(row: dict[Hashable, Any]) -> bool:
    """Whether most seeds reached the target after every request, and scratch's did."""
    return bool(2 * row["compared"] >= row["seeds"])


def _cell(row: dict[Hashable, Any] | None, sign: Grade, mark: str) -> str:
    """`70% ~`, with the number of seeds in which the target was reached where it was not in all, `70% ~ (3 of 5)`;
    without a cost where these are fewer than half.
    """
    if row is None:
        return "not run"
    seeds = f"{row['compared']} of {row['seeds']}"
    if not _has_cost(row):
        return f"{seeds} seeds{mark}"
    return f"{row['cost']:.0%} {sign.sign}" + (f" ({seeds}{mark})" if row["compared"] < row["seeds"] else "")


def _seeds(count: int) -> str:
    return f"{count} {'seed' if count == 1 else 'seeds'}"


def signs(root: Path, run: Published) -> str:
    """What the signs of the table mean; it is by accuracy alone throughout."""
    words = ", ".join(f"{one.sign} {one.words}" for one in GRADES if one is not BY_ACCURACY)
    lost = f". {_LOST} Made without the clipping of the paper's code: a model that explodes is lost"
    return f"{words}{lost if _unclipped(root, run) else ''}"
