"""Tables that people read: one row a method."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from sifu.report.floor import FLOOR, with_floors
from sifu.report.share import share
from sifu.report.statistics import to_target

HEADLINE = (
    ("done", "", "target met"),
    ("refused", "", "target met"),
    ("rounds", "", "rounds"),
    ("steps_to_scratch", "", "cost / scratch"),
    ("server_steps", "", "steps at the server"),
    ("speed_up", "", "speed-up"),
    ("no_cost", "", "speed-up"),
    ("accuracy", "retain", "retain accuracy"),
    ("accuracy", "forget", "forget accuracy"),
    ("gap_to_scratch", "forget", "forget gap"),
    (FLOOR, "forget", "floor"),
    ("accuracy", "test", "test accuracy"),
    ("claimed_epsilon", "", "claimed epsilon"),
    ("actual_epsilon", "", "actual epsilon"),
    ("claimed_delta", "", "claimed delta"),
    ("actual_delta", "", "actual delta"),
    ("spent_epsilon", "", "spent epsilon"),
)
# numbers without an interval
_SHORT = ("claimed_epsilon", "actual_epsilon", "claimed_delta", "actual_delta", "spent_epsilon")
_COMPARED = (
    "steps_to_scratch",
    "speed_up",
    "gap_to_scratch",
)  # with scratch's in the same seed: also Student's interval
BUDGETS = (
    ("gap_to_scratch", "retain", "gap on retain"),
    (FLOOR, "retain", "floor on retain"),
    ("gap_to_scratch", "forget", "gap on forget"),
    (FLOOR, "forget", "floor on forget"),
    ("rounds", "", "rounds"),
)


def headline(statistics: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """After recovery to the target: cost, accuracy on remaining and forgotten clients, claimed and actual delta."""
    return _wide(with_floors(to_target(statistics)), HEADLINE, labels, ["scenario", "method", "request"])


_HYPER_PARAMETERS = (
    ("model", "model"),
    ("partition.kind", "partition"),
    ("partition.num_clients", "M"),
    ("federation.clients_per_round", "m"),
    ("federation.local_steps", "K"),
    ("federation.batch_size", "B"),
    ("federation.client_lr", "eta"),
    ("federation.momentum", "momentum"),
    ("federation.clip", "clip"),
    ("federation.weight_decay", "weight decay"),
    ("certificate.sigma", "sigma"),
    ("certificate.epsilon", "epsilon"),
    ("certificate.delta", "delta"),
    ("certificate.contraction", "B(f, eta)"),
    ("stop.accuracy", "target"),
    ("stop.min_rounds", "minimum rounds"),
    ("stop.max_rounds", "maximum rounds"),
)


def hyper_parameters(titles: dict[str, str], settings: dict[str, Any]) -> pd.DataFrame:
    """The settings of every scenario that matter most (the paper's Table 2)."""
    rows = []
    for name, plain in settings.items():
        row = {"scenario": titles[name]}
        for path, title in _HYPER_PARAMETERS:
            value: Any = plain
            for part in path.split("."):
                value = value[part]
            row[title] = "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        rows.append(row)
    return pd.DataFrame(rows, columns=["scenario", *(title for _, title in _HYPER_PARAMETERS)])


def latex(table: pd.DataFrame, caption: str) -> str:
    """A table for papers: booktabs, one row a line."""
    head = " & ".join(_escape(str(title)) for title in table.columns)
    lines = [" & ".join(_escape(str(value)) for value in row) + r" \\" for row in table.itertuples(index=False)]
    begin = [r"\begin{table}", rf"\caption{{{_escape(caption)}}}", r"\begin{tabular}{" + "l" * len(table.columns) + "}"]
    end = [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    return "\n".join([*begin, r"\toprule", head + r" \\", r"\midrule", *lines, *end]) + "\n"


_SIGNS = {ord(sign): "\\" + sign for sign in "&%$#_{}"} | {
    ord("\\"): r"\textbackslash{}",
    ord("~"): r"\textasciitilde{}",
    ord("^"): r"\textasciicircum{}",
}


def _escape(text: str) -> str:
    return text.translate(_SIGNS).replace("<=", r"$\leq$").replace(">=", r"$\geq$")


def budgets(statistics: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """Under a budget: absolute gaps to scratch (run to its own target)."""
    statistics = with_floors(statistics)  # before scratch's own target is left out
    limited = statistics[statistics["stop"] != "target"]
    return _wide(limited, BUDGETS, labels, ["scenario", "stop", "method", "request"])


def _wide(
    statistics: pd.DataFrame, columns: tuple[tuple[str, str, str], ...], labels: dict[str, str], keys: list[str]
) -> pd.DataFrame:
    """One row a key, a column for each quantity as `mean [low, high]`; a cell that is missing says so."""
    order = {label: place for place, label in enumerate(labels.values())}
    rows = statistics[statistics["variant"].isin(list(labels))]
    rows = rows.assign(method=rows["variant"].map(labels))
    found = []
    for quantity, subset, title in columns:
        part = rows[(rows["quantity"] == quantity) & (rows["subset"] == subset)]
        if len(part):
            found.append(part.assign(column=title, text=part.apply(_text, axis=1)))
    if not found:
        return pd.DataFrame(columns=keys)
    titles = list(dict.fromkeys(title for _, _, title in columns))
    wide = pd.concat(found).pivot(index=keys, columns="column", values="text")
    wide = wide[[title for title in titles if title in wide.columns]].fillna("-").reset_index()
    wide.columns.name = None
    by = [key for key in keys if key != "method"]
    return (
        wide.assign(_order=wide["method"].map(order)).sort_values([*by[:-1], "_order", by[-1]]).drop(columns="_order")
    )


def _text(row: pd.Series) -> str:
    digits = {"rounds": 0, "server_steps": 0, "speed_up": 2}.get(row["quantity"], 3)
    if row["quantity"] == "no_cost":
        free = round(row["mean"] * row["seeds"])
        return "no cost" if free == row["seeds"] else f"no cost in {free} of {row['seeds']}"
    if row["quantity"] == "done":
        return share(round(row["mean"] * row["seeds"]), int(row["seeds"]))
    if row["quantity"] == "refused":
        return "refused"
    if row["quantity"] == FLOOR:
        return "-" if pd.isna(row["mean"]) else f"{row['mean']:.3f}{', not above' if row['not_above'] else ''}"
    if row["quantity"] == "rounds" and row.get("short", False):
        return f">= {row['mean']:.0f}"
    if row["quantity"] in _SHORT:
        return f"{row['mean']:,.0f}" if row["mean"] >= 1000 else f"{row['mean']:.3g}"
    ends = f"{row['low']:.{digits}f}, {row['high']:.{digits}f}"
    if row["quantity"] in _COMPARED and pd.notna(row["t_low"]):
        ends += f"; t {row['t_low']:.{digits}f}, {row['t_high']:.{digits}f}"
    return f"{row['mean']:.{digits}f} [{ends}]"


_PIPE = re.compile(r"(?<!\\)\|")  # one that is not escaped yet


def markdown(table: pd.DataFrame, caption: str) -> str:
    """A table as GitHub shows it."""
    lines = [caption, "", "| " + " | ".join(table.columns) + " |", "|" + " --- |" * len(table.columns)]
    rows = ((_PIPE.sub(r"\\|", str(value)) for value in row) for row in table.itertuples(index=False))
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"
