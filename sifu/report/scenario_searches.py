"""The table of searches of scenarios' settings, and where another value than the best one is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from sifu.config.search import trials
from sifu.report.searches import mean_cost

_SCENARIO_TRIAL = ("scenario", "setting", "value", "target met", "diverged", "rounds", "recovery", "client steps")
WHEN_SEARCHED = "when searched"  # of a value that was the scenario's own then, and is no longer
Settings = Mapping[str, Mapping[str, Any]]  # scenario -> its settings of today, plain


def scenario_searches(tried: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Every value that was tried for a scenario's settings, with marks at the one to choose and at the used one.

    `used` goes by today's `settings`; the stored column says which value was used when the search was made.
    """
    rows = []
    for (scenario, setting, _), group in tried.groupby(["scenario", "setting", "place"]):
        counts = [f"{(group['status'] == status).sum()} of {len(group)}" for status in ("done", "diverged")]
        means = [mean_cost(group, name) for name in ("training_rounds", "rounds", "client_steps")]
        last = [f"{group['accuracy'].mean():.3f}", _used(group, settings), "yes" if group["chosen"].all() else ""]
        rows.append([scenario, setting, group["value"].iloc[0], *counts, *means, *last])
    return pd.DataFrame(rows, columns=[*_SCENARIO_TRIAL, "accuracy", "used", "chosen"])


def _used(trial: pd.DataFrame, settings: Settings) -> str:
    """Whether a value is the scenario's own, or was when the search was made."""
    then, today = bool(trial["used"].all()), _today(trial, settings)
    if today is None:
        return "yes" if then else ""
    return "yes" if trial["value"].iloc[0] == today else WHEN_SEARCHED if then else ""


def _today(tried: pd.DataFrame, settings: Settings) -> str | None:
    """The value of one scenario's setting today, as text of a trial; None where it is not in the plan."""
    plain = settings.get(str(tried["scenario"].iloc[0]))
    keys = [name.partition(".") for name in str(tried["setting"].iloc[0]).split(", ")]
    if plain is None or any(scope not in plain for scope, *_ in keys):
        return None
    own = {f"{scope}{dot}{name}": plain[scope][name] if dot else plain[scope] for scope, dot, name in keys}
    (text,) = trials({key: [value] for key, value in own.items()})
    return text


def not_chosen(tried: pd.DataFrame, settings: Settings) -> list[str]:
    """Settings of one scenario whose search would have chosen another value than the one that is used today."""
    sentences = [_otherwise(group, settings) for _, group in tried.groupby("setting")]
    return [sentence for sentence in sentences if sentence]


def _otherwise(tried: pd.DataFrame, settings: Settings) -> str:
    """A sentence on one setting; empty where the search would have chosen what is used."""
    setting, today = tried["setting"].iloc[0], _today(tried, settings)
    then, chosen = (tried[tried[name]] for name in ("used", "chosen"))
    used = then if today is None else tried[tried["value"] == today]
    would = f"the search would have chosen {chosen['value'].iloc[0]}"
    if used.empty:
        before = f" ({then['value'].iloc[0]} was used when the search was made)" if len(then) else ""
        own = f"{today} is used and was not tried" if today is not None else "that is used was not tried"
        return f"{setting} {own}{before}, {would}"
    if used["value"].iloc[0] == chosen["value"].iloc[0]:
        return ""
    before, after = (mean_cost(part, "client_steps") for part in (used, chosen))
    return f"{setting} {used['value'].iloc[0]} is used ({before} client steps), {would} ({after})"
