"""What the twin test of many models says of the methods: a table for docs/forgetting.md, and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from sifu.docs.measured_text import table_text
from sifu.docs.named import scenarios, variant_labels
from sifu.replication.claims.stored_tables import StoredTables, read_tables
from sifu.replication.published import Published
from sifu.report.forgetting import ORIGINAL, TOGETHER, answer
from sifu.report.totals import request_totals
from sifu.report.untested import untested

_COLUMNS = (
    *("method", "cost", "rounds used", "told from retraining", "by twins", "shift", "share forgotten"),
    *("forgotten?", "relearn time"),
)
_FEW_COLUMNS = ("method", "cost", "rounds used", "by twins", "forgotten?")
_FEW = ("fine_tuning", "fed_accum", "dp_released", "last", "sifu")  # the paper's: shown in short, also if they remember
_NOTHING = "No federation with twins has been run yet."
_ORDER = ("yes", "cannot tell", "nothing to forget", "no")
_UNKNOWN = "-"
_WITH_ROUNDS = " with rounds of the training"
_WITHOUT = {"0": " by starting again", _UNKNOWN: ""}  # by the rounds that are used
_LINK, _CHANCE = "[twin test](docs/forgetting.md)", "; an AUC of 0.5 is chance"
_LEVEL = 0.05  # of the p-value of being told from retraining


class TwinTest(NamedTuple):
    """The answer to the first request in one federation, the AUC by twins, and how well it is told from retraining."""

    federation: str
    auc: float
    forgotten: str  # yes | no | cannot tell | nothing to forget
    told_auc: float
    told_p: float

    @property
    def found(self) -> str:
        words = {"yes": "its clients are forgotten", "no": "its clients are still found"}
        return f"{words.get(self.forgotten, 'it cannot be told')} after the first request"

    @property
    def odd(self) -> str:
        told = self.forgotten == "yes" and self.told_p < _LEVEL
        return f", though its models are told from retrained ones (AUC {self.told_auc:.2f})" if told else ""


def twin_tests(root: Path, tables: StoredTables, variant: str) -> list[TwinTest]:
    """The twin tests of a variant, federation by federation; not of strongly convex ones, in which all trainings go to
    one optimum, so that any that goes on without the clients forgets them.
    """
    labels = {name: one.label for name, one in scenarios(root).items() if one.certificate.contraction >= 1}
    rows = _together(tables)
    rows = rows[(rows["variant"] == variant) & rows["scenario"].isin(labels)]
    rows = rows.sort_values("scenario", key=lambda names: names.map([*labels].index))
    parts = (rows[name] for name in ("scenario", "twins_auc", "forgotten", "retrain_auc", "retrain_p"))
    return [TwinTest(labels[scenario], *more) for scenario, *more in zip(*parts, strict=True)]


def in_sentences(tests: list[TwinTest], *, explained: bool = False) -> str:
    """Whether a method's clients are forgotten by the twin test, with a space before it; nothing without one.

    `explained`: where to read what that test is, and what AUC chance has.
    """
    alike: dict[tuple[str, str], list[str]] = {}
    for one in tests:
        alike.setdefault((one.found, one.odd), []).append(f"{one.federation}: AUC {one.auc:.3f}")
    sentences = [f" By the twin test {found} ({'; '.join(where)}){odd}" for (found, odd), where in alike.items()]
    if explained and sentences:
        sentences[0] = sentences[0].replace("twin test", _LINK) + _CHANCE
    return "".join(f"{one}." for one in sentences)


def forgotten_by_twins(root: Path, run: Published) -> str:
    """For each federation with twins a table of its methods: those that forget first, the cheapest of them on top."""
    tables = read_tables(run.folder)
    return "\n\n".join(_table(root, tables, name) for name in _tested(root, tables)) or _NOTHING


def forgotten_in_short(root: Path, run: Published) -> str:
    """For each federation with twins how many methods forgot, who they are, and a short table."""
    tables = read_tables(run.folder)
    return "\n\n".join(_in_short(root, tables, name) for name in _tested(root, tables)) or _NOTHING


def not_tested_by_twins(root: Path, run: Published) -> str:
    """A line a dataset with a twin test: which variants were run on it, and tested by twins nowhere."""
    tables, places, labels = read_tables(run.folder), scenarios(root), variant_labels(root)
    cells = tables.cells[["scenario", "variant"]].drop_duplicates()
    places_of = {variant: place for place, variant in enumerate(labels) if variant != ORIGINAL}
    ran = [cell for cell in cells.itertuples(index=False, name=None) if cell[0] in places and cell[1] in places_of]
    ran.sort(key=lambda cell: places_of[cell[1]])
    tested = set(_together(tables)[["scenario", "variant"]].itertuples(index=False, name=None))
    found = untested(ran, tested, {name: one.dataset.name for name, one in places.items()})
    titles = {name: places[name].label if name in places else name for name in found}
    lines = [f"- {titles[name]}: {'; '.join(labels[one] for one in them)}" for name, them in found.items()]
    return "\n".join(lines) or "All variants were."


def _tested(root: Path, tables: StoredTables) -> list[str]:
    """The federations with twins that were run, in the order of their catalog."""
    tested = set(_together(tables)["scenario"])
    return [name for name in scenarios(root) if name in tested]


def _table(root: Path, tables: StoredTables, scenario: str) -> str:
    """The methods of one federation, and how many models were compared."""
    rows = _together(tables)
    rows = rows[rows["scenario"] == scenario]
    null, where = rows["twins_null"].max(), _federation(root, scenario)
    head = (
        f"{where}, after the first request, {int(rows['models'].min())} models a world (by twins: null 0.50 +- "
        f"{null:.2f}):"
    )
    cells = [[row[column] for column in _COLUMNS] for row in _methods(root, tables, scenario)]
    return f"{head}\n\n{table_text(cells, *_COLUMNS).strip()}"


def _methods(root: Path, tables: StoredTables, scenario: str) -> list[dict[str, str]]:
    """The rows of a table, by its columns; with the name of the variant, and the answer without its details."""
    rows = _together(tables)
    labels, costs = {ORIGINAL: "Original"} | variant_labels(root), _costs(tables, scenario)
    listed = [row for row in rows[rows["scenario"] == scenario].to_dict("records") if row["variant"] in labels]
    listed.sort(key=lambda row: (_ORDER.index(row["forgotten"]), costs.get(row["variant"], float("inf"))))
    found = []
    for row in listed:
        name = row["variant"]
        used = _whole(tables.went_back_to(scenario, name).mean())
        cells = [labels[name], _percent(costs.get(name)), used, *_numbers(row)]
        found.append(dict(zip(_COLUMNS, cells, strict=True)) | {"variant": name, "answer": row["forgotten"]})
    return found


def _in_short(root: Path, tables: StoredTables, scenario: str) -> str:
    """`9 of 33 variants forgot, ...`, the names of those that forgot, and the rows of a few. Original is no variant."""
    rows = [row for row in _methods(root, tables, scenario) if row["variant"] != ORIGINAL]
    counts = Counter(row["answer"] for row in rows)
    parts = [f"{counts['yes']} of {len(rows)} variants forgot", f"{counts['no']} did not"]
    open_ = counts["cannot tell"] + counts["nothing to forget"]
    parts += [f"{open_} cannot be judged"] * (open_ > 0)
    models = int(_together(tables).query("scenario == @scenario")["models"].min())
    shown = [row for row in rows if row["answer"] != "no" or row["variant"] in _FEW]
    cells = [[row[column] for column in _FEW_COLUMNS] for row in shown]
    where = f"{_federation(root, scenario)}, after the first request, with {models} models a world"
    head = f"**On {where}: {', '.join(parts)}.**"
    return "\n\n".join([head, *_who_forgot(rows), table_text(cells, *_FEW_COLUMNS).strip()])


def _federation(root: Path, scenario: str) -> str:
    """A federation by its label and its name."""
    return f"{scenarios(root)[scenario].label} (`{scenario}`)"


def _who_forgot(rows: list[dict[str, str]]) -> list[str]:
    """A list of those that forgot, where there are any: those that use something of the training, those that do not,
    those of which that was not measured.
    """
    forgot: dict[str, list[str]] = {words: [] for words in (_WITH_ROUNDS, *_WITHOUT.values())}
    for row in rows:
        if row["answer"] == "yes":
            forgot[_WITHOUT.get(row["rounds used"], _WITH_ROUNDS)].append(row["method"])
    lines = [f"- {len(names)} forgot{words}: {'; '.join(names)}" for words, names in forgot.items() if names]
    return ["\n".join(lines)] if lines else []


def _numbers(row: dict[Hashable, Any]) -> list[str]:
    """The columns of a row after the rounds that it uses."""
    share = f"{row['share']:.2f} [{row['share_low']:.2f}, {row['share_high']:.2f}]"
    relearn = "-" if pd.isna(row["relearn"]) else f"{row['relearn']:.2f}"
    shift = f"{row['twins_shift']:.1f}".replace("-0.0", "0.0")
    return [f"{row['retrain_auc']:.2f}", f"{row['twins_auc']:.2f}", shift, share, answer(row), relearn]


def _whole(value: float) -> str:
    return _UNKNOWN if pd.isna(value) else f"{value:,.0f}"


def _costs(tables: StoredTables, scenario: str) -> dict[str, float]:
    """Client steps relative to scratch's, of the methods that reach the target in most seeds."""
    totals = request_totals(tables.cells, tables.metrics)
    rows = totals[(totals["scenario"] == scenario) & (2 * totals["compared"] >= totals["seeds"])]
    return dict(zip(rows["variant"], rows["cost"], strict=True))


def _percent(cost: float | None) -> str:
    return "-" if cost is None or pd.isna(cost) else f"{cost:.0%}"


def _together(tables: StoredTables) -> pd.DataFrame:
    """The rows about all clients of the first request that have a twin test: later ones are not written about."""
    rows = tables.forgetting
    return rows[(rows["client"] == TOGETHER) & (rows["request"] == 1) & rows["twins_auc"].notna()]
