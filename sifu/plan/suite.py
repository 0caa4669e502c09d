"""The whole plan of a config: who runs where, and what the report is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from sifu.config.blocks import (
    block_name,
    block_names,
    block_of_oracles,
    block_seeds,
    chosen_block_size,
    client_block_names,
)
from sifu.config.changed_scenario import Change, changed_scenario
from sifu.config.fields import to_plain
from sifu.config.run import Run
from sifu.config.scenario import Scenario
from sifu.config.search import ScenarioSearch
from sifu.config.side_experiments import AlphaSweep, RequestSets, SettingSweep, SigmaSweep
from sifu.config.variant import Variant
from sifu.errors import ConfigError
from sifu.plan.report_plan import Job, ReportPlan
from sifu.plan.stage_spec import STAGES
from sifu.plan.variants import method_of
from sifu.unlearning.method import CertifiedMethod, Method, OwnTraining

_MOST_JOBS = 100_000  # of unlearn and verify: Snakemake takes 70 kB of memory and 7 ms for each


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
            "remove it, or name another folder by `results` of the config"
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

    def audit_variants(self, scenario: str) -> list[str]:
        """The variants that are audited, of those of a scenario."""
        audits = self.run.audits_of.get(scenario)
        return [name for name in (audits.variants if audits else ()) if name in self.variants_of(scenario)]

    def oracle_variants(self, scenario: str) -> list[str]:
        """The variants of the oracles, of those of a scenario; scratch first, as the others are told from it."""
        wanted = self.run.oracles.variants if self.run.oracles else ()
        return ["scratch", *(name for name in wanted if name in self.variants_of(scenario) and name != "scratch")]

    def seeds_end(self, sweep: SigmaSweep | SettingSweep | RequestSets | None) -> int:
        """The first seed that a sweep leaves out."""
        count = sweep.num_seeds if sweep and sweep.num_seeds else self.run.num_seeds
        return self.run.first_seed + min(count, self.run.num_seeds)

    @property
    def sigma_sweeps(self) -> dict[str, SigmaSweep]:
        """The sweeps of sigma by their variant."""
        return {sweep.variant: sweep for sweep in self.run.sigma_sweeps}

    @property
    def setting_sweeps(self) -> dict[str, SettingSweep]:
        """The sweeps of other settings by their variant."""
        return {sweep.variant: sweep for sweep in self.run.setting_sweeps}

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

    @property
    def scenario_searches(self) -> dict[tuple[str, str], ScenarioSearch]:
        """The searches for scenarios' settings, by scenario and name."""
        return {(s.scenario, s.name): s for s in self.run.scenario_searches if s.scenario in self.scenarios}

    def searched_as(self, scenario: str) -> str:
        """The scenario in which methods' settings are searched for this one."""
        return self.scenarios[scenario].searched_as or scenario

    @cached_property
    def jobs(self) -> dict[str, list[Job]]:
        """The jobs of every stage."""
        return {stage: self._jobs_of[spec.jobs] for stage, spec in STAGES.items()}

    @cached_property
    def _jobs_of(self) -> dict[str, list[Job]]:
        """Jobs by what they are made for: the words that `StageSpec.jobs` may have."""
        run, cells = self.run, [(name, block) for name in self.scenarios for block in self.blocks_of(name)]
        variants = [Job(name, block, v) for name, block in cells for v in self.variants_of(name)]
        swept = self._swept(run.alpha_sweep, run.first_seed + run.num_seeds)
        return {
            "once": [Job()],
            "blocks": [Job(name, block) for name, block in cells],
            "counterfactuals": [Job(name, block) for name, block in cells if self.compared(name)],
            "variants": variants,
            "own_trainings": [job for job in variants if self.own_training(job.part)],
            "searches": self._search_jobs(),
            "scenario_searches": [Job(s, search.block, name) for (s, name), search in self.scenario_searches.items()],
            "sigma_sweep": self._swept_variants(run.sigma_sweeps),
            "setting_sweeps": self._swept_variants(run.setting_sweeps),
            "request_sets": self._swept(run.request_sets, self.seeds_end(run.request_sets)),
            "audits": self._audit_jobs(),
            "alpha_sweep": [job._replace(part=change) for job in swept for change in self.changes],
            "oracles": self._oracle_jobs(),
            "forgetting": self._forgetting_jobs(),
            "atlas": self._atlas_jobs(),
        }

    def _audit_jobs(self) -> list[Job]:
        """The first block of each scenario that is audited: one seed is enough."""
        names = [name for name in self.run.audits_of if name in self.scenarios and self.audit_variants(name)]
        return [Job(name, self.blocks_of(name)[0]) for name in names]

    def _swept_variants(self, sweeps: Sequence[SigmaSweep | SettingSweep]) -> list[Job]:
        """The scenarios and blocks of sweeps of one variant each."""
        return [
            job._replace(part=sweep.variant) for sweep in sweeps for job in self._swept(sweep, self.seeds_end(sweep))
        ]

    def _swept(self, sweep: SigmaSweep | SettingSweep | RequestSets | AlphaSweep | None, seeds_end: int) -> list[Job]:
        """The scenarios and blocks of a sweep."""
        names = [name for name in (sweep.scenarios if sweep else ()) if name in self.scenarios]
        found = [Job(name, block) for name in names for block in self.blocks_of(name)]
        return [job for job in found if block_seeds(job.block).start < seeds_end]

    def _oracle_jobs(self) -> list[Job]:
        """Blocks of models of each scenario of the oracles."""
        oracles, found = self.run.oracles, []
        for name in self._oracle_scenarios:
            assert oracles is not None
            own = [entry.size for entry in oracles.block_sizes if name in entry.scenarios]
            size = own[0] if own else oracles.block_size or block_of_oracles(self.scenarios[name], self.run.device)
            found += [Job(name, block) for block in block_names(self._oracle_seeds, size)]
        return found

    def _forgetting_jobs(self) -> list[Job]:
        return [Job(name, block_name(self._oracle_seeds)) for name in self._oracle_scenarios]

    def _atlas_jobs(self) -> list[Job]:
        """Blocks of clients of each scenario of the atlas."""
        wanted = [(atlas, name) for atlas in self.run.atlases for name in atlas.scenarios if name in self.scenarios]
        found = []
        for atlas, name in wanted:
            seeds = block_name(range(self.run.first_seed, self.run.first_seed + atlas.models))
            parts = client_block_names(self.scenarios[name].partition.num_clients, atlas.block_size)
            found += [Job(name, seeds, part) for part in parts]
        return found

    @property
    def _oracle_scenarios(self) -> list[str]:
        oracles = self.run.oracles
        return [name for name in (oracles.scenarios if oracles else ()) if name in self.scenarios]

    @property
    def _oracle_seeds(self) -> range:
        count = self.run.oracles.models if self.run.oracles else 0
        return range(self.run.first_seed, self.run.first_seed + count)

    def _search_jobs(self) -> list[Job]:
        """The searches for methods' settings, each once."""
        found = [
            Job(self.searched_as(scenario), search.block, name)
            for scenario in self.scenarios
            for name in self.variants_of(scenario)
            if (search := self.variants[name].search) is not None
        ]
        return list(dict.fromkeys(found))

    def own_training(self, variant: str) -> bool:
        """Whether the variant's method needs a training of its own."""
        return isinstance(self.method(next(iter(self.scenarios)), variant), OwnTraining)

    def compared(self, scenario: str) -> list[str]:
        """The variants whose certificates are compared with the scenario's training without the clients of a request.

        None where only one is: it finds by itself the few rounds that it needs.
        """
        methods = {name: self.method(scenario, name) for name in self.variants_of(scenario)}
        shared = {name: method for name, method in methods.items() if not isinstance(method, OwnTraining)}
        found = [name for name, one in shared.items() if isinstance(one, CertifiedMethod) and one.on_the_past]
        return found if len(found) > 1 and self.scenarios[scenario].count_certificates else []

    def method(self, scenario: str, variant: str) -> Method:
        """The method of a variant in a scenario, before any search."""
        key = scenario, variant
        if key not in self._methods:
            self._methods[key] = method_of(variant, self.all_variants[variant], self.scenarios[scenario])
        return self._methods[key]

    @cached_property
    def _methods(self) -> dict[tuple[str, str], Method]:
        return {}

    def report_plan(self) -> ReportPlan:
        """What the report is about."""
        return ReportPlan(
            results=self.run.results,
            titles={name: scenario.label for name, scenario in self.scenarios.items()},
            labels={name: variant.label for name, variant in self.variants.items()},
            methods={name: variant.method for name, variant in self.variants.items()},
            shown=self.shown,
            variants={name: self.variants_of(name) for name in self.scenarios},
            marks={name: scenario.mark for name, scenario in self.scenarios.items()},
            jobs=self.jobs,
            changes={name: entry.label for name, entry in self.changes.items()},
            settings={name: to_plain(scenario) for name, scenario in self.scenarios.items()},
            left_out=list(self.skipped),
            datasets={name: f"{one.dataset.name}/{one.dataset.source}" for name, one in self.scenarios.items()},
            trainings={name: kind_of_training(scenario) for name, scenario in self.scenarios.items()},
            uncounted=[name for name, scenario in self.scenarios.items() if not scenario.count_certificates],
        )

    def refuse_too_many(self) -> None:
        """Refuse a plan that no machine could hold in memory, before it is made."""
        jobs = sum(len(self.blocks_of(name)) for name in self.scenarios) * (len(self.variants) + 1)
        if jobs > _MOST_JOBS:
            raise ConfigError("num_seeds", self.run.num_seeds, f"a plan of at most {_MOST_JOBS} jobs: raise block_size")

    def blocks_of(self, scenario: str) -> list[str]:
        """Names of a scenario's seed blocks: s000-009, s010-019, ..."""
        seeds = range(self.run.first_seed, self.run.first_seed + self.run.num_seeds)
        own = [entry.size for entry in self.run.block_sizes if scenario in entry.scenarios]
        return block_names(seeds, own[0] if own else self._block_size)

    @cached_property
    def _block_size(self) -> int:
        return self.run.block_size or chosen_block_size(self.scenarios.values(), self.run.device)


def kind_of_training(scenario: Scenario) -> str:
    """Dataset, model, optimiser and epsilon, as a word: a twin test speaks for other scenarios of the same kind."""
    data, federation = scenario.dataset, scenario.federation
    optimiser = (federation.momentum, federation.weight_decay)
    parts = (data.name, data.source, data.scale, scenario.model, *optimiser, scenario.certificate.epsilon)
    return "/".join(str(part) for part in parts)
