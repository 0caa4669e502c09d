"""What a report is about: scenarios, variants, and the jobs whose tables it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, NamedTuple

from sifu.catalog.figures import FIGURES
from sifu.errors import ConfigError
from sifu.plan.stage_spec import STAGES

REPORTED = tuple(stage for stage, spec in STAGES.items() if spec.reported)
_PRODUCTS = tuple(stage for stage in REPORTED if STAGES[stage].jobs in ("blocks", "variants"))


class Job(NamedTuple):
    """A job of a stage: what its folder is named after."""

    scenario: str = ""
    block: str = ""
    part: str = ""  # a variant, a change, a search; nothing for most stages


@dataclass(frozen=True)
class ReportPlan:
    """Scenarios and variants with their names, and the jobs of every stage."""

    results: str
    titles: dict[str, str] = field(default_factory=dict)  # scenario -> name in figures
    labels: dict[str, str] = field(default_factory=dict)  # variant -> name in figures
    methods: dict[str, str] = field(default_factory=dict)  # variant -> method
    shown: list[str] = field(default_factory=list)  # variants that figures draw
    variants: dict[str, list[str]] = field(default_factory=dict)  # scenario -> its variants
    marks: dict[str, str] = field(default_factory=dict)  # scenario -> plain | watermark | backdoor
    jobs: dict[str, list[Job]] = field(default_factory=dict)  # stage -> its jobs
    changes: dict[str, str] = field(default_factory=dict)  # change of the alpha sweep -> name in figures
    settings: dict[str, Any] = field(default_factory=dict)  # scenario -> its settings, plain
    left_out: list[str] = field(default_factory=list)  # scenarios whose datasets are missing
    datasets: dict[str, str] = field(default_factory=dict)  # scenario -> its dataset, with its source
    trainings: dict[str, str] = field(default_factory=dict)  # scenario -> its kind of training (sifu/plan/suite.py)
    uncounted: list[str] = field(default_factory=list)  # scenarios whose settings do not count certificates

    @property
    def blocks(self) -> dict[str, list[str]]:
        """The seed blocks of each scenario's training."""
        trainings = self.jobs.get("train", [])
        return {name: [job.block for job in trainings if job.scenario == name] for name in self.titles}

    @property
    def figures(self) -> list[str]:
        """The figures for which something is planned."""
        return planned_figures(self.jobs)

    @property
    def unmarked(self) -> dict[str, str]:
        """The names of the scenarios whose data have no marks."""
        return {name: title for name, title in self.titles.items() if self.marks[name] == "plain"}

    def plain(self) -> dict[str, Any]:
        """Plain data that JSON can hold; the inverse of `read`, for the stages that the report reads.

        Jobs that follow from scenarios, blocks and variants are left out: with many seeds they are most of it.
        """
        listed = {stage: jobs for stage, jobs in self.jobs.items() if stage in REPORTED and stage not in _PRODUCTS}
        return asdict(replace(self, jobs=listed)) | {"blocks": self.blocks}

    @staticmethod
    def read(data: Any) -> ReportPlan:
        """A report plan from plain data, such as JSON."""
        names = [*(one.name for one in fields(ReportPlan)), "blocks"]
        if not isinstance(data, dict) or set(data) != set(names):
            raise ConfigError("--plan", data, f"a JSON file with the keys {', '.join(names)}")
        jobs = {stage: [Job(*job) for job in listed] for stage, listed in data["jobs"].items()}
        cells = [(name, block) for name in data["titles"] for block in data["blocks"][name]]
        variants = [Job(name, block, part) for name, block in cells for part in data["variants"][name]]
        for stage in _PRODUCTS:
            by_variant = STAGES[stage].jobs == "variants"
            jobs[stage] = variants if by_variant else [Job(name, block) for name, block in cells]
        return ReportPlan(**({name: value for name, value in data.items() if name != "blocks"} | {"jobs": jobs}))


def planned_figures(jobs: Mapping[str, Sequence[Job]]) -> list[str]:
    """The figures for which some of the jobs, by stage, measure something."""
    return [name for name, spec in FIGURES.items() if jobs.get(spec.needs)]
