"""Tables that people read: one row a method."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import pandas as pd

from sifu.config.search import FORGETS
from sifu.report.floor import FLOOR, with_floors
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
    ("claimed_delta", "", "claimed delta"),
    ("actual_delta", "", "actual delta"),
    ("spent_epsilon", "", "spent epsilon"),
)
_SHORT = ("claimed_delta", "actual_delta", "spent_epsilon")  # numbers without an interval
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


def searches(trials: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """Every value that was tried: how many seeds reached the target, in how many rounds, how accurate they ended.

    `chosen` says what decided: client steps, forgetting where a cheaper value remembers, or accuracy where no value
    reached the target; and whether the value is the smallest or largest one tried.
    """
    rows = []
    of_variant = dict(iter(trials.groupby(["scenario", "variant"])))
    for (scenario, variant, _), group in trials.groupby(["scenario", "variant", "place"]):
        rows.append(
            {
                "scenario": scenario,
                "method": labels.get(str(variant), variant),
                "setting": group["setting"].iloc[0],
                "value": group["value"].iloc[0],
                "target met": f"{(group['status'] == 'done').sum()} of {len(group)}",
                "rounds": _cost(group, "rounds"),
                "client steps": _cost(group, "client_steps"),
                "accuracy": f"{group['accuracy'].mean():.3f}",
                "remembers": _signed(_remembers(group)),
                "chosen": _reason(of_variant[scenario, variant]) if group["chosen"].all() else "",
            }
        )
    return pd.DataFrame(rows, columns=[*_METHOD_TRIAL])


_METHOD_TRIAL = (
    *("scenario", "method", "setting", "value", "target met", "rounds", "client steps"),
    *("accuracy", "remembers", "chosen"),
)


def _signed(value: float) -> str:
    return "" if math.isnan(value) else f"{value:+.3f}"


def _remembers(trials: pd.DataFrame) -> float:
    """How much more accurate than a retraining on the data of forgotten clients, a mean over seeds."""
    return float((trials["forget_accuracy"] - trials["retrained_accuracy"]).mean())


def _reason(trials: pd.DataFrame) -> str:
    """Why the value that was chosen is the best of a variant's trials on a scenario."""
    chosen = trials[trials["chosen"]]
    edge = ", at the edge" if _at_edge(trials["value"].unique(), chosen["value"].iloc[0]) else ""
    if not (chosen["status"] == "done").any():
        return f"by accuracy{edge}"
    if _remembers(chosen) > FORGETS:
        return f"nearest to forgetting{edge}"
    alike = trials.groupby("place").filter(lambda one: (one["status"] == "done").sum() >= _reached(chosen))
    cheaper = alike.groupby("place")["client_steps"].mean().min() < chosen["client_steps"].mean()
    return f"by {'forgetting' if cheaper else 'client steps'}{edge}"


def _reached(trials: pd.DataFrame) -> int:
    return int((trials["status"] == "done").sum())


def _at_edge(values: Iterable[str], chosen: str) -> bool:
    """Whether one of the settings has its smallest or largest value, where three or more were tried."""
    tried = zip(*(value.split(", ") for value in values), strict=True)
    return any(
        len(set(column)) > 2 and float(own) in (min(map(float, column)), max(map(float, column)))
        for own, column in zip(chosen.split(", "), tried, strict=True)
        if all(_is_number(value) for value in column)
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _cost(trials: pd.DataFrame, column: str) -> str:
    """The mean of what trials took; a lower bound where one of them was stopped before its target."""
    met = (trials["status"] == "done").all()
    return ("" if met else ">= ") + f"{trials[column].mean():.0f}"


_SCENARIO_TRIAL = ("scenario", "setting", "value", "target met", "diverged", "rounds", "recovery", "client steps")


def scenario_searches(trials: pd.DataFrame) -> pd.DataFrame:
    """Every value that was tried for a scenario's settings, with marks at the used one and at the one to choose."""
    rows = []
    for (scenario, setting, _), group in trials.groupby(["scenario", "setting", "place"]):
        counts = [f"{(group['status'] == status).sum()} of {len(group)}" for status in ("done", "diverged")]
        means = [_cost(group, name) for name in ("training_rounds", "rounds", "client_steps")]
        last = [f"{group['accuracy'].mean():.3f}", *("yes" if group[name].all() else "" for name in ("used", "chosen"))]
        rows.append([scenario, setting, group["value"].iloc[0], *counts, *means, *last])
    return pd.DataFrame(rows, columns=[*_SCENARIO_TRIAL, "accuracy", "used", "chosen"])


def not_chosen(trials: pd.DataFrame) -> list[str]:
    """Settings of one scenario whose search would have chosen another value than the one that is used."""
    words = []
    for setting, group in trials.groupby("setting"):
        used, chosen = (group[group[name]] for name in ("used", "chosen"))
        if used.empty:
            words.append(
                f"{setting} that is used was not tried, the search would have chosen {chosen['value'].iloc[0]}"
            )
        elif used["value"].iloc[0] != chosen["value"].iloc[0]:
            (old, before), (new, after) = (
                (part["value"].iloc[0], _cost(part, "client_steps")) for part in (used, chosen)
            )
            words.append(
                f"{setting} {old} is used ({before} client steps), the search would have chosen {new} ({after})"
            )
    return words


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
        return f"{round(row['mean'] * row['seeds'])} of {row['seeds']}"
    if row["quantity"] == "refused":
        return "refused"
    if row["quantity"] == FLOOR:
        return "-" if pd.isna(row["mean"]) else f"{row['mean']:.3f}{', within' if row['within'] else ''}"
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
