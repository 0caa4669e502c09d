"""How far a run is: what it does now, how many jobs are done, and how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

# how long a job of a rule takes compared with others; they only have to be about right
_WEIGHTS = {"train": 6, "train_variant": 6, "search": 30, "scenario_search": 30, "unlearn": 6, "sweep": 12}
_WEIGHTS |= {"request_sets": 12, "alpha": 5, "alpha_sweep": 5, "verify": 3, "audit": 60, "oracles": 30, "forgetting": 5}
_WEIGHTS |= {"atlas": 30, "counterfactual": 20, "setting_sweep": 12}
_OTHERS = 1
_EARLY = 0.1  # before this share of a run its speed is not known
_WORDS = {
    "partition": "deal out the data of",
    "train": "train",
    "train_variant": "train",
    "counterfactual": "train without the clients to forget in",
    "unlearn": "unlearn",
    "verify": "measure",
    "sweep": "sweep sigma in",
    "setting_sweep": "sweep a setting in",
    "request_sets": "other requests in",
    "audit": "audit certificates in",
    "oracles": "train many models of",
    "atlas": "leave clients out in",
    "forgetting": "say what is forgotten in",
    "search": "search settings in",
    "scenario_search": "search settings of",
    "alpha": "measure alpha in",
    "alpha_sweep": "measure alpha in",
    "report": "write tables",
    "figure": "draw",
    "page": "write the report",
    "null_space": "forgetting by fine-tuning, in closed form",
}


@dataclass(frozen=True)
class RunningJob:
    """A job of a run, by its rule and the names in its path."""

    rule: str
    names: Mapping[str, str]

    def __str__(self) -> str:
        """What a person calls it: `unlearn mnist_embedded with sifu`."""
        names = [self.names[key] for key in ("scenario", "figure") if key in self.names]
        parts = [f"with {self.names[key]}" for key in ("variant", "part") if self.names.get(key)]
        return " ".join([_WORDS.get(self.rule, self.rule), *names, *parts])


@dataclass
class RunProgress:
    """The jobs of a run, as they start and end."""

    clock: Callable[[], float] = time.monotonic
    planned: dict[str, int] = field(default_factory=dict)  # jobs by rule
    running: dict[int, RunningJob] = field(default_factory=dict)
    done: int = 0
    _weight_done: float = 0.0
    _began: float | None = None

    def plan(self, jobs: Mapping[str, int]) -> None:
        """Jobs by rule; the rule `all` only names the others."""
        self.planned = {rule: count for rule, count in jobs.items() if rule not in ("all", "total")}

    def start(self, number: int, job: RunningJob) -> None:
        if self._began is None:
            self._began = self.clock()
        self.running[number] = job

    def finish(self, number: int) -> RunningJob | None:
        """The job that has ended; None for the rule `all`."""
        job = self.running.pop(number, None)
        if job is not None:
            self.done += 1
            self._weight_done += _WEIGHTS.get(job.rule, _OTHERS)
        return job

    @property
    def total(self) -> int:
        return sum(self.planned.values())

    @property
    def share(self) -> float:
        """How much of the work is done, jobs that have just begun not counted: 0 to 1."""
        weight = sum(_WEIGHTS.get(rule, _OTHERS) * count for rule, count in self.planned.items())
        return min(1.0, self._weight_done / weight) if weight else 1.0

    @property
    def seconds_left(self) -> float | None:
        """What the rest takes at the speed so far; None: too early to say."""
        if self._began is None or self.share < _EARLY:
            return None
        return (self.clock() - self._began) * (1 - self.share) / self.share

    def line(self) -> str:
        """One line for a person: how far, time left, what runs now."""
        left = self.seconds_left
        parts = [f"{self.done} of {self.total} jobs"]
        if left is not None and self.done < self.total:
            parts.append(f"about {duration(left)} left")
        now = ", ".join(dict.fromkeys(map(str, self.running.values())))
        return " · ".join([*parts, *([f"now: {now}"] if now else [])])


def duration(seconds: float) -> str:
    """Seconds as people say them: `40 s`, `2 min 30 s`, `3 h 20 min`."""
    tens = max(10, round(seconds / 10) * 10)
    if tens < 60:
        return f"{tens} s"
    if tens < 3600:
        return f"{tens // 60} min" + (f" {tens % 60} s" if tens % 60 else "")
    return f"{tens // 3600} h {tens % 3600 // 60} min"
