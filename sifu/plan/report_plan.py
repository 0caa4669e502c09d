"""What a report is about: scenarios, variants, and the files that a finished run has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sifu.errors import ConfigError


@dataclass(frozen=True)
class ReportPlan:
    """Scenarios and variants with their names, and where their tables lie."""

    results: str
    titles: dict[str, str]  # scenario -> name in figures
    blocks: list[str]
    labels: dict[str, str]  # variant -> name in figures
    methods: dict[str, str]  # variant -> method
    shown: list[str]  # variants that figures draw
    variants: dict[str, list[str]]  # scenario -> its variants
    marks: dict[str, str]  # scenario -> plain | watermark | backdoor
    settings: dict[str, Any]  # scenario -> its settings, plain
    searches: list[list[str]]  # scenario, variant, block
    scenario_searches: list[list[str]]  # scenario, name, block
    sweeps: list[list[str]]  # scenario, block
    request_sets: list[list[str]]  # scenario, block
    alpha_sweeps: list[list[str]]  # scenario, change, block
    changes: dict[str, str]  # change of the alpha sweep -> name in figures
    left_out: list[str] = field(default_factory=list)  # scenarios whose datasets are not there

    @staticmethod
    def read(data: Any) -> ReportPlan:
        """A report plan from plain data, such as JSON."""
        names = list(ReportPlan.__dataclass_fields__)
        if not isinstance(data, dict) or set(data) != set(names):
            raise ConfigError("--plan", data, f"JSON with the keys {', '.join(names)}")
        return ReportPlan(**data)
