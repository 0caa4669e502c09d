"""The whole plan of a config: who runs where, and what the report is about."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from sifu.config.blocks import block_name, block_seeds, chosen_block_size
from sifu.config.fields import to_plain
from sifu.config.run import Change, Run, Variant, changed_scenario
from sifu.config.scenario import Scenario
from sifu.config.search import ScenarioSearch


@dataclass(frozen=True)
class Suite:
    """The whole plan: what to run, with every name looked up and every dataset found."""

    run: Run
    scenarios: dict[str, Scenario]  # those of run.scenarios whose data are there, sources resolved
    variants: dict[str, Variant]  # those of run.variants
    skipped: dict[str, str]  # scenario -> why it is left out
    all_variants: dict[str, Variant] = field(default_factory=dict)  # everything in variants.yaml

    def variants_of(self, scenario: str) -> list[str]:
        """The variants that run in a scenario."""
        some = {entry.scenario: entry.variants for entry in self.run.only}
        return [name for name in self.run.variants if name in some.get(scenario, self.run.variants)]

    def notices(self) -> list[str]:
        """What is left out, a sentence for each reason: scenarios without their dataset stand together."""
        return self.skipped_words() + self._published_words()

    def _published_words(self) -> list[str]:
        """Published tables without their trainings, as a clone has them, look finished to Snakemake."""
        folder = Path(self.run.results)
        if not (folder / "manifest.json").exists() or any(folder.glob("train/*/*/history.safetensors")):
            return []
        return [
            f"{folder} holds published tables without their trainings, and what is there is not run again: "
            "remove it, or name another folder with --config results=..."
        ]

    def skipped_words(self) -> list[str]:
        """Scenarios whose datasets are not there."""
        reasons: dict[str, list[str]] = {}
        for name, reason in self.skipped.items():
            reasons.setdefault(reason, []).append(name)
        words = {True: ("scenario", "is"), False: ("scenarios", "are")}
        found = []
        for reason, names in reasons.items():
            noun, verb = words[len(names) == 1]
            found.append(f"{noun} {', '.join(names)} {verb} left out: {reason}")
        return found

    @property
    def shown(self) -> list[str]:
        """The variants that figures draw."""
        return list(self.run.variants if self.run.shown is None else self.run.shown)

    @property
    def set_variants(self) -> list[str]:
        """The variants of the request sets, of those of the run."""
        sets = self.run.request_sets
        return [name for name in (sets.variants if sets else ()) if name in self.variants]

    def sweep_files(self, stage: str) -> list[tuple[str, str]]:
        """The (scenario, block) pairs of the sigma `sweep`, of the `request_sets` or of the `alpha_sweep`."""
        run = self.run
        sweep = {"sweep": run.sigma_sweep, "request_sets": run.request_sets, "alpha_sweep": run.alpha_sweep}[stage]
        blocks = [block for block in self.blocks if block_seeds(block).start < self.seeds_end(stage)]
        names = [name for name in (sweep.scenarios if sweep else ()) if name in self.scenarios]
        return [(name, block) for name in names for block in blocks]

    def seeds_end(self, stage: str) -> int:
        """The first seed that the sigma `sweep` or the `request_sets` do without."""
        sweep = {"sweep": self.run.sigma_sweep, "request_sets": self.run.request_sets}.get(stage)
        count = sweep.num_seeds if sweep and sweep.num_seeds else self.run.num_seeds
        return self.run.first_seed + min(count, self.run.num_seeds)

    @property
    def changes(self) -> dict[str, Change]:
        """The changed federations of the alpha sweep by name."""
        sweep = self.run.alpha_sweep
        return {entry.name: entry for entry in (sweep.federations if sweep else ())}

    def changed(self, scenario: str, change: str) -> Scenario:
        """A scenario as a change of the alpha sweep trains it."""
        sweep = self.run.alpha_sweep
        rounds = sweep.rounds if sweep else None
        return changed_scenario(self.scenarios[scenario], self.changes[change].change, rounds, f"alpha_sweep.{change}")

    def alpha_sweeps(self) -> list[tuple[str, str, str]]:
        """The (scenario, change, block) triples of the alpha sweep."""
        return [(name, change, block) for name, block in self.sweep_files("alpha_sweep") for change in self.changes]

    @property
    def scenario_searches(self) -> dict[tuple[str, str], ScenarioSearch]:
        """The searches for scenarios' settings, by scenario and name."""
        return {(s.scenario, s.name): s for s in self.run.scenario_searches if s.scenario in self.scenarios}

    def searched_as(self, scenario: str) -> str:
        """The scenario in which methods' settings are searched for this one."""
        return self.scenarios[scenario].searched_as or scenario

    @property
    def searches(self) -> list[tuple[str, str, str]]:
        """The (scenario, variant, block) triples of the searches for methods' settings."""
        found = [
            (self.searched_as(scenario), name, search.block)
            for scenario in self.scenarios
            for name in self.variants_of(scenario)
            if (search := self.variants[name].search) is not None
        ]
        return list(dict.fromkeys(found))

    def report_plan(self) -> dict[str, Any]:
        """What the report is about, in plain data."""
        return {
            "results": self.run.results,
            "titles": {name: scenario.label for name, scenario in self.scenarios.items()},
            "blocks": self.blocks,
            "labels": {name: variant.label for name, variant in self.variants.items()},
            "methods": {name: variant.method for name, variant in self.variants.items()},
            "shown": self.shown,
            "variants": {name: self.variants_of(name) for name in self.scenarios},
            "marks": {name: scenario.mark for name, scenario in self.scenarios.items()},
            "searches": self.searches,
            "scenario_searches": [(*key, search.block) for key, search in self.scenario_searches.items()],
            "settings": {name: to_plain(scenario) for name, scenario in self.scenarios.items()},
            "sweeps": self.sweep_files("sweep"),
            "request_sets": self.sweep_files("request_sets"),
            "alpha_sweeps": self.alpha_sweeps(),
            "changes": {name: entry.label for name, entry in self.changes.items()},
            "left_out": list(self.skipped),
        }

    @cached_property
    def blocks(self) -> list[str]:
        """Names of the seed blocks: s000-009, s010-019, ..."""
        first, end = self.run.first_seed, self.run.first_seed + self.run.num_seeds
        size = self.run.block_size or chosen_block_size(self.scenarios.values(), self.run.device)
        return [block_name(range(start, min(start + size, end))) for start in range(first, end, size)]
