"""What the README says of the replication: what was run so far, and four findings in words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from sifu.core.types import Status
from sifu.docs.by_twins import TwinTest, in_sentences, twin_tests
from sifu.docs.deviations_of_rules import has_epochs
from sifu.docs.finding_of_certificates import finding_of_certificates
from sifu.docs.finding_of_sifu import finding_of_sifu
from sifu.docs.named import scenarios
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
from sifu.replication.claims.stored_tables import DATASETS, StoredTables, read_tables
from sifu.replication.published import CONFIG, Published, described, read_manifest
from sifu.report.old_clipping import old_clipping, pairs_not_clipped, since_clipped
from sifu.report.totals import request_totals
from sifu.store.paths import manifest_file

_ALL_MISSING = "[All that is missing](docs/replication/run.md)."
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


def unclipped(root: Path, run: Published) -> set[tuple[str, str]]:
    """Scenarios and variants whose rows lack the clipping of the released code."""
    return pairs_not_clipped(_main(root), _manifest(run))


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
    for name in _swept_since(main, manifest):
        rows = tables.sweep[(tables.sweep["scenario"] == name) & (tables.sweep["variant"] == SWEPT)]
        if len(rows):
            done = int((rows["status"] == Status.DONE.value).sum())
            words += f" There SIFU as released recovers on {titles[name]} in {done} of {len(rows)} first requests."
    return words


def _swept_since(main: Mapping[str, Any], manifest: Mapping[str, Any] | None) -> list[str]:
    """Scenarios whose sweeps were clipped, where the same method's main rows were not."""
    old = pairs_not_clipped(main, manifest)
    return [name for name in since_clipped("sweep", main, manifest) if (name, SWEPT) in old]


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
    titles, lost = {name: place.label for name, place in scenarios(root).items()}, unclipped(root, run)
    lines = [
        finding_of_sifu(totals, marked, sifu, titles, lost, short=short),
        _fine_tuning(_of(totals, "fine_tuning"), tuned),
        _fed_eraser(_of(totals, "fed_eraser_searched"), eraser),
        finding_of_certificates(tables, _all_of(totals, "sifu_strict"), titles, lost, short=short),
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
