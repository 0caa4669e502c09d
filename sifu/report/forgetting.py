"""Was it forgotten? The tables of many models that people read, and the answers of the column `forgotten?`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from sifu.forgetting.verdict import CANNOT_TELL, YES, surely_gone
from sifu.report.distances import Place, distance_text
from sifu.report.forgetting_attacks import HITS, attacks, hits, null_text, p_text, remaining
from sifu.store.oracle_schemas import original_of

COLUMN = "forgotten?"
ORIGINAL = "original"  # the model before the requests
TOGETHER = -1  # in place of a client: all clients of a request
MORE = (*HITS, "lowest tenth", "with the model before", "Gaussian KL", "disagreement", "Jensen-Shannon")


def forgetting_table(rows: pd.DataFrame, distances: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """A row for each scenario, method and request."""
    rows = _together(rows, labels)
    return pd.DataFrame(
        {
            "scenario": rows["scenario"],
            "method": rows["method"],
            "request": rows["request"],
            "models a world": rows["models"],
            "told from retraining": attacks(rows, "retrain"),
            "paired p": rows["paired_p"].map(p_text),
            "on remaining clients": remaining(rows),
            "by twins": rows["twins_auc"].map(_number),
            "shift": rows["twins_shift"].map(_one_digit),
            "null": rows["twins_null"].map(null_text),
            "U-LiRA by twins": attacks(rows, "twins_lira"),
            "half against half": _placebos(rows),
            "RULI": _games(rows),
            "original": rows["original_auc"].map(_number),
            "share forgotten": rows.apply(_share, axis=1) if len(rows) else [],
            COLUMN: _answers(rows),
            "relearn time": rows.apply(_relearn, axis=1) if len(rows) else [],
            "KLOM": [distance_text(distances, "klom", "forget", key) for key in _keys(rows)],
            "worst decile drop": [distance_text(distances, "worst_decile_drop", "retain", key) for key in _keys(rows)],
            **_more(rows, distances),
        }
    )


def _more(rows: pd.DataFrame, distances: pd.DataFrame) -> dict[str, list[str]]:
    """The columns of MORE: what else was measured, in the table as a file."""
    far = {"Gaussian KL": "gaussian_kl", "disagreement": "disagreement", "Jensen-Shannon": "jensen_shannon"}
    return {title: hits(rows, name, others) for title, (name, others) in HITS.items()} | {
        "lowest tenth": list(rows["lowest_auc"].map(_number)),
        "with the model before": attacks(rows, "pair"),
        **{
            title: [distance_text(distances, name, "forget", key) for key in _keys(rows)] for title, name in far.items()
        },
    }


def answers_by_request(rows: pd.DataFrame, labels: dict[str, str]) -> dict[tuple[str, str, int], str]:
    """The column `forgotten?` by scenario, name of the method, and request."""
    chosen = _together(rows, labels)
    keys = chosen[["scenario", "method", "request"]].itertuples(index=False, name=None)
    return dict(zip(keys, _answers(chosen), strict=True))


def forgotten_line(rows: pd.DataFrame, labels: dict[str, str]) -> str | None:
    """Which methods forgot by twins, in the scenario in which most of them were tested; None: none was."""
    rows = rows[(rows["client"] == TOGETHER) & rows["twins_auc"].notna()]
    tested = rows.groupby("scenario", sort=False)["variant"].nunique()
    rows = rows[rows["scenario"].eq(str(tested.idxmax()))] if len(rows) else rows
    rows = rows[rows["request"] == rows["request"].min()]
    found = zip(rows["variant"], rows["twins_auc"], _answers(rows), strict=True)
    words = {name: f"{auc:.2f} ({forgotten})" for name, auc, forgotten in found}
    told = [f"{label} {words[name]}" for name, label in labels.items() if name in words and name != ORIGINAL]
    if not told:
        return None
    models, nulls = int(rows["models"].min()), f"null {null_text(rows['twins_null'].max())}{_original(rows)}"
    return f"Was the client forgotten? AUC by twins, {models} models a world ({nulls}): {'; '.join(told)}."


def by_the_rule(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of table `forgetting`, with the answers of the rule of today: earlier tables have a `yes` also where the
    upper end of the share allows an overshoot.
    """
    parts = zip(rows["forgotten"], rows["share_low"], rows["share_high"], strict=True)
    words = [CANNOT_TELL if word == YES and not surely_gone(low, high) else word for word, low, high in parts]
    return rows.assign(forgotten=pd.Series(words, rows.index, rows["forgotten"].dtype))


def answer(row: Mapping[Hashable, Any]) -> str:
    """Whether clients were forgotten, in the words of a table, from a row of table `forgetting`."""
    if row["forgotten"] == "no" and row["twins_auc"] < 0.5:
        return "no (overshot)"
    missed = row["forgotten"] == CANNOT_TELL and 2 * row["reached"] < row["models"]
    return "cannot tell (target missed)" if missed else str(row["forgotten"])


def _answers(rows: pd.DataFrame) -> list[str]:
    return [answer(row) for row in rows.to_dict("records")]


def _original(rows: pd.DataFrame) -> str:
    """What the original knew, by the rows of methods that start from it: one with a training of its own has another."""
    own = rows["variant"].map(original_of).isin(set(rows["variant"])) | rows["variant"].str.startswith(original_of(""))
    first = rows.loc[~own, "original_auc"].head(1)
    return "".join(f"; original {value:.2f}" for value in first)


def with_original(labels: dict[str, str]) -> dict[str, str]:
    """The names of the methods, after that of the model before the requests."""
    return {ORIGINAL: "Original"} | labels


def _together(rows: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """The rows about all clients of a request, in the order of the methods, with their names."""
    names = with_original(labels)
    rows = rows[(rows["client"] == TOGETHER) & rows["variant"].isin(list(names))]
    order = {name: place for place, name in enumerate(names)}
    rows = rows.assign(method=rows["variant"].map(names), order=rows["variant"].map(order))
    return rows.sort_values(["scenario", "order", "request"])


def _keys(rows: pd.DataFrame) -> list[Place]:
    return [Place(*key) for key in rows[["scenario", "variant", "request"]].itertuples(index=False, name=None)]


def _number(value: float) -> str:
    return "-" if pd.isna(value) else f"{value:.2f}"


def _one_digit(value: float) -> str:
    return "-" if pd.isna(value) else f"{value:.1f}"


def _placebos(rows: pd.DataFrame) -> list[str]:
    """An AUC next to its null, in the first row of each training: methods that share it have the same."""
    first = ~rows.duplicated(["scenario", "request", "placebo_auc"])
    pairs = zip(rows["placebo_auc"], rows["placebo_null"], first, strict=True)
    return [f"{one:.2f} (null {null_text(two)})" if new and pd.notna(one) else "-" for one, two, new in pairs]


def _games(rows: pd.DataFrame) -> list[str]:
    """RULI's games, privacy and efficacy, next to their null."""
    parts = rows[["ruli_privacy", "ruli_efficacy", "ruli_null"]].itertuples(index=False, name=None)
    return ["-" if pd.isna(one) else f"{one:.2f}, {two:.2f} (null {null_text(null)})" for one, two, null in parts]


def _share(row: pd.Series) -> str:
    if pd.isna(row["share"]):
        return "-"
    return f"{row['share']:.2f} [{row['share_low']:.2f}, {row['share_high']:.2f}]"


def _relearn(row: pd.Series) -> str:
    """The ratio, with `>=` or `<=` where it is a limit, and in how many seeds both got there where that is not all."""
    if pd.isna(row["relearn_seeds"]):
        return "-"
    seeds, left_out = int(row["relearn_seeds"]), int(row["relearn_left_out"])
    counted = f" ({seeds} of {seeds + left_out} seeds)" if left_out else ""
    if pd.isna(row["relearn"]):
        return f"-{counted}"
    sign = "" if row["relearn_bound"] == "=" else f"{row['relearn_bound']} "
    return f"{sign}{row['relearn']:.2f} [{row['relearn_low']:.2f}, {row['relearn_high']:.2f}]{counted}"
