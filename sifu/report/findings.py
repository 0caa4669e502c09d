"""What a run shows, in sentences with numbers: generated, so that they cannot be wishful."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd

from sifu.report.certificates import kept_for_one
from sifu.report.deletion_test import CANNOT_TELL, ENOUGH_POWER, powers, verdicts
from sifu.report.inverted import inverted_finding, known_inverted
from sifu.report.looked_good import fails_on
from sifu.report.results import Results
from sifu.report.scenario_searches import not_chosen
from sifu.report.statistics import to_target

_ABOVE = 1.05  # times what is claimed: less is rounding of means


def findings(source: Results) -> list[str]:
    """A few sentences for each scenario."""
    found: list[str] = []
    inverted = known_inverted(source.cells, source.metrics)
    for scenario, title in source.plan.titles.items():
        numbers = to_target(source.statistics)
        part = numbers[(numbers["scenario"] == scenario) & (numbers["request"] == 1)]
        texts = [
            _cheapest(source, scenario, part),
            _certificates(source, scenario, part),
            _spent(source, part),
            _verified(source, scenario),
            inverted_finding(inverted, scenario, source.plan.labels),
            _searched(source, scenario),
        ]
        found += [f"{title}: {text}" for text in texts if text]
    return found or ["Nothing has been unlearned yet."]


def _value(part: pd.DataFrame, variant: str, quantity: str, subset: str = "") -> pd.Series | None:
    rows = part[(part["variant"] == variant) & (part["quantity"] == quantity) & (part["subset"] == subset)]
    return rows.iloc[0] if len(rows) else None


_CLOSE = 0.02  # to scratch's accuracy on the forgotten clients: just as well forgotten
_FORGET = (
    "By accuracy, just as well forget:",
    "As accurate as scratch, but failing the twin test of the same kind of training:",
    "Less well:",
    "With an accuracy below scratch's:",
)


def _cheapest(source: Results, scenario: str, part: pd.DataFrame) -> str | None:
    """Which methods forget as scratch does by accuracy, and what they cost; which do not."""
    reference = _value(part, "scratch", "accuracy", "forget")
    if reference is None:
        return None
    found: dict[str, list[tuple[float, str]]] = {start: [] for start in _FORGET}
    failing = _with_same_answers(source, part, fails_on(source.plan, source.forgetting, scenario))
    for variant, label in source.plan.labels.items():
        accuracy, cost = _value(part, variant, "accuracy", "forget"), _value(part, variant, "steps_to_scratch")
        done = _value(part, variant, "done")
        if accuracy is None or cost is None or done is None or variant in ("scratch", "original") or done["mean"] < 1:
            continue
        text = f"{label} ({cost['mean']:.2f} of scratch's client steps, accuracy {accuracy['mean']:.2f})"
        start = _forgets(accuracy["mean"] - reference["mean"], fails=variant in failing)
        found[start].append((cost["mean"], text))
    words = [f"after scratch the accuracy on the first forgotten clients is {reference['mean']:.2f}."]
    words += [f"{start} {'; '.join(text for _, text in sorted(chosen))}." for start, chosen in found.items() if chosen]
    return " ".join(words)


def _with_same_answers(source: Results, part: pd.DataFrame, names: set[str]) -> set[str]:
    """Some variants, and those of the same methods with the same numbers: a search may find what a default is."""

    def numbers(variant: str) -> tuple[str, float | None, float | None]:
        cost, accuracy = _value(part, variant, "steps_to_scratch"), _value(part, variant, "accuracy", "forget")
        means = [None if one is None else float(one["mean"]) for one in (cost, accuracy)]
        return source.plan.methods.get(variant, variant), means[0], means[1]

    known = {numbers(name) for name in names}
    return {name for name in source.plan.labels if name in names or numbers(name) in known}


def _forgets(gap: float, *, fails: bool) -> str:
    """The words for an accuracy that differs by `gap` from scratch's. Below scratch's nothing is forgotten better.

    `fails`: the twin test says that the clients are remembered, also where accuracy does not.
    """
    close, misjudged, above, below = _FORGET
    if abs(gap) <= _CLOSE:
        return misjudged if fails else close
    return above if gap > 0 else below


def _certificates(source: Results, scenario: str, part: pd.DataFrame) -> str | None:
    """The methods whose actual delta, for a request, is larger than the claimed one, and those that promise it to one
    client and keep that.
    """
    broken = [
        f"{source.plan.labels[variant]} (claimed {claimed:.2g}, actual {actual:.2g}{_kept(source, scenario, variant)})"
        for variant, claimed, actual in _above_claim(source, part, "claimed_delta", "actual_delta")
    ]
    return f"the actual delta is above the claimed one for {', '.join(broken)}." if broken else None


def _kept(source: Results, scenario: str, variant: str) -> str:
    """That a promise to each client alone is kept after the first request; nothing where it is not."""
    kept = kept_for_one(source.cells[source.cells["request"] == 1], scenario, variant)
    return "" if kept is None else f"; kept for one client: epsilon {kept.epsilon:.3g} of {kept.claimed:g}"


def _spent(source: Results, part: pd.DataFrame) -> str | None:
    """The methods that spend a larger epsilon than they claim."""
    words = [
        f"{source.plan.labels[variant]} (claimed {claimed:g}, spent {spent:,.0f} for one client)"
        for variant, claimed, spent in _above_claim(source, part, "claimed_epsilon", "spent_epsilon")
    ]
    start = "an accountant finds a larger epsilon than the claimed one for"
    return f"{start} {', '.join(words)}." if words else None


def _above_claim(source: Results, part: pd.DataFrame, claim: str, fact: str) -> Iterator[tuple[str, float, float]]:
    """Variants whose `fact` is clearly above their `claim`, with both means."""
    for variant in source.plan.labels:
        claimed, actual = _value(part, variant, claim), _value(part, variant, fact)
        if claimed is not None and actual is not None and actual["mean"] > _ABOVE * claimed["mean"]:
            yield variant, claimed["mean"], actual["mean"]


def _verified(source: Results, scenario: str) -> str | None:
    """The methods that the clients' own test accuses."""
    checks = source.verification
    part = verdicts(checks[checks["scenario"] == scenario])
    part = part[part["request"] == 1]
    if not len(part):
        return None
    words = []
    for variant, label in source.plan.labels.items():
        own = part[part["variant"] == variant]
        if len(own):
            words.append(f"{label} in {own['together'].sum()} of {len(own)} seeds")
    _, power = powers(part).get((scenario, 1), (math.nan, math.nan))
    weak = f" Elsewhere the test {CANNOT_TELL}: its power is {power:.0%}." if power < ENOUGH_POWER else ""
    return (
        f"the clients of the first request, together, say that their data were not deleted by {', '.join(words)}.{weak}"
    )


def _searched(source: Results, scenario: str) -> str | None:
    """Which settings of the scenario are not those that its search would have chosen."""
    trials = source.scenario_trials
    words = not_chosen(trials[trials["scenario"] == scenario], source.plan.settings)
    return f"{'; '.join(words)}." if words else None
