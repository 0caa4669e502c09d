"""A run in six lines: what the methods cost, forgot, kept and promised, and what clients find out themselves."""

from __future__ import annotations

from collections.abc import Callable, Container

import pandas as pd

from sifu.report.certificates import kept_for_one
from sifu.report.deletion_test import CANNOT_TELL, ENOUGH_POWER, powers, verdicts
from sifu.report.floor import AGAIN
from sifu.report.forgetting import forgotten_line
from sifu.report.looked_good import fails_on
from sifu.report.results import Results
from sifu.report.statistics import REFERENCE, to_target

_CLOSE = 0.02  # to scratch's accuracy: as well forgotten, or kept


def in_short(source: Results, statistics: pd.DataFrame) -> list[str]:
    """At most six lines on the first scenario of the plan; the third on the first with twins, the last on triggers."""
    scenario = next(iter(source.plan.titles))
    numbers = to_target(statistics)
    methods = Methods(numbers[numbers["scenario"] == scenario], source.plan.labels)
    promises = methods.certificates(lambda name: kept_for_one(source.cells, scenario, name) is not None)
    by_twins = forgotten_line(source.forgetting, source.plan.labels)
    failing = {source.plan.labels.get(name) for name in fails_on(source.plan, source.forgetting, scenario)}
    compared = [methods.costs(), methods.forgotten(failing), by_twins, methods.kept()]
    short = methods.fell_short()
    lines = [*([short, by_twins] if short else compared), promises, _accused(source)]
    return [line for line in lines if line]


class Methods:
    """The methods of one scenario, by their statistics to the target."""

    def __init__(self, numbers: pd.DataFrame, labels: dict[str, str]) -> None:
        self.numbers, self.labels = numbers, labels
        self.last = int(numbers["request"].max()) if len(numbers) else 0

    def mean(self, variant: str, quantity: str, subset: str = "", *, request: int | None = None) -> float | None:
        """The mean over seeds after a request; over all requests if none is named. None: there is no such number."""
        rows = self.numbers[(self.numbers["variant"] == variant) & (self.numbers["quantity"] == quantity)]
        rows = rows[rows["subset"] == subset]
        if request is not None:
            rows = rows[rows["request"] == request]
        return float(rows["mean"].mean()) if len(rows) else None

    def _values(self, value_of: Callable[[str], float | None]) -> dict[str, float]:
        """Values by label, of the methods that have one; neither scratch nor the model before any request."""
        variants = {name: label for name, label in self.labels.items() if name not in (REFERENCE, "original")}
        values = {label: value_of(name) for name, label in variants.items()}
        return {label: value for label, value in values.items() if value is not None}

    def fell_short(self) -> str | None:
        """Where scratch met the target in fewer than half of the seeds, nothing is compared with it."""
        reached = self.mean(REFERENCE, "done")
        if reached is None or reached >= 0.5:
            return None
        return (
            f"Scratch met the target accuracy in {reached:.0%} of its answers: costs and accuracies are not compared "
            "with it. Raise stop.max_rounds, or change how the federation trains."
        )

    def costs(self) -> str | None:
        """Client steps of every method, cheapest first."""
        costs = self._values(lambda name: self.mean(name, "steps_to_scratch"))
        reached = self._values(lambda name: self.mean(name, "done"))
        short = [label for label, share in reached.items() if label not in costs and share < 1]
        if not costs:
            return None
        cheapest = sorted(costs.items(), key=lambda item: item[1])
        words = "; ".join(f"{label} {cost:.2f}" for label, cost in cheapest)
        missed = f"; target accuracy missed: {'; '.join(short)}" if short else ""
        return f"Cost of a request, client steps relative to training again (scratch), mean: {words}{missed}."

    def forgotten(self, failing: Container[str | None] = ()) -> str | None:
        """Which methods give the forgotten clients the accuracy that scratch gives them, and are not among `failing`:
        labels of those that fail the twin test of the same kind of training.
        """
        gaps = self._gaps("forgotten")
        if not gaps:
            return None
        close = [label for label, gap in gaps.items() if abs(gap) <= _CLOSE]
        others = [f"{label} {gap:+.2f}" for label, gap in gaps.items() if abs(gap) > _CLOSE]
        misjudged = [label for label in close if label in failing]
        words = [f"as by scratch: {'; '.join(label for label in close if label not in failing) or 'no method'}."]
        words += [f"As accurate, but failing the twin test: {'; '.join(misjudged)}."] if misjudged else []
        words += [f"Off scratch's accuracy on forgotten clients: {'; '.join(others)}."] if others else []
        floor = self.mean(AGAIN, "gap_to_scratch", "forgotten", request=self.last)
        words += [f"Scratch, run again: {floor:.2f} (the floor)."] if floor is not None else []
        return f"Forgotten by accuracy after {self.last} requests {' '.join(words)}"

    def kept(self) -> str | None:
        """Which methods lose accuracy on the remaining clients."""
        gaps = self._gaps("retain")
        reference = self.mean(REFERENCE, "accuracy", "retain", request=self.last)
        if not gaps or reference is None:
            return None
        worse = [f"{label} {reference + gap:.2f}" for label, gap in gaps.items() if gap < -_CLOSE]
        words = f"all methods but {'; '.join(worse)}" if worse else "all methods"
        return f"Kept: accuracy on the remaining clients as after scratch ({reference:.2f}) with {words}."

    def _gaps(self, subset: str) -> dict[str, float]:
        """Accuracy after the last request minus scratch's."""
        reference = self.mean(REFERENCE, "accuracy", subset, request=self.last)
        if reference is None:
            return {}
        values = self._values(lambda name: self.mean(name, "accuracy", subset, request=self.last))
        return {label: value - reference for label, value in values.items()}

    def certificates(self, keeps_for_one: Callable[[str], bool]) -> str | None:
        """What certificates with noise claim, and what holds; `keeps_for_one` of a promise to each client alone."""
        words = []
        for name, label in self.labels.items():
            claimed, actual = (self.mean(name, f"{kind}_delta") for kind in ("claimed", "actual"))
            if claimed and actual is not None:
                one = " (kept for one client)" if keeps_for_one(name) else ""
                words.append(f"{label} {claimed:.2g} and {actual:.1g}{one}")
        start = "Certificates, delta claimed, and actual for all forgotten clients together"
        return f"{start}: {'; '.join(words)}." if words else None


def _accused(source: Results) -> str | None:
    """The methods that clients with triggers accuse of not having deleted their data."""
    found = verdicts(source.verification)
    found = found[found["request"] == 1]
    weak = any(together < ENOUGH_POWER for _, together in powers(found).values())
    note = f" The test {CANNOT_TELL} where it accuses nobody: it seldom accuses the original model." if weak else ""
    words = []
    for variant, label in source.plan.labels.items():
        own = found[found["variant"] == variant]
        if len(own):
            words.append(f"{label} {own['together'].sum()} of {len(own)}")
    return (
        f"Seeds in which clients find by their trigger that they were not deleted: {'; '.join(words)}.{note}"
        if words
        else None
    )
