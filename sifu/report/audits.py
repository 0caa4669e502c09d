"""The table of audits that people read: what is claimed, what holds, and what counting proves."""

from __future__ import annotations

import pandas as pd

CAPTION = (
    "Certificates against many trainings with and without the forgotten clients, all at the promised delta. "
    "`claimed`: the promised epsilon, to each client alone or to several together (`promise to`); `strict`: counted "
    "strictly, by Psi, or by the noise of all rounds given the draws; `measured`: by alpha (both: medians of five "
    "models); `proved`: a lower bound on epsilon with 95% confidence, from `models` models of each world, of which an"
    " attack that was chosen on others accepted `hits` and `alarms`; `at most`: what so many models can prove. An "
    "epsilon proved above the claimed one refutes a promise to the `forgotten` clients together; one to each of them "
    "alone is exceeded, but not refuted."
)
_NUMBERS = {
    "claimed_epsilon": "claimed",
    "strict_epsilon": "strict",
    "measured_epsilon": "measured",
    "proved_epsilon": "proved",
    "most_provable": "at most",
}


def audit_table(rows: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """A row for each scenario, method, for whom, and request."""
    shown = pd.DataFrame(
        {
            "scenario": rows["scenario"],
            "method": rows["variant"].map(lambda name: labels.get(name, name)),
            "request": rows["request"],
            "forgotten": rows["clients"],
            "promise to": rows["covers"].map(_covers),
            "delta": rows["delta"].map(_number),
        }
    )
    for name, title in _NUMBERS.items():
        shown[title] = rows[name].map(_number)
    for name in ("models", "hits", "alarms", "statistic", "verdict"):
        shown[name] = rows[name]
    return shown


def _covers(count: float | None) -> str:
    if count is None or pd.isna(count):
        return "-"
    return "each alone" if count == 1 else f"{count:.0f} together"


def _number(value: float | None) -> str:
    return "-" if value is None or pd.isna(value) else f"{value:.3g}"
