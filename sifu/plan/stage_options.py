"""The options that the workflow gives to a stage's command, beyond those of all stages."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial

from sifu.config.fields import to_plain
from sifu.plan.report_plan import Job
from sifu.plan.suite import Suite

_json = partial(json.dumps, sort_keys=True)


def stage_options(suite: Suite, stage: str, job: Job) -> list[str]:
    """The options of one job."""
    makers: Mapping[str, Callable[[Suite, Job], list[str]]] = {
        "search": _variant,
        "train_variant": _variant,
        "unlearn": _variant,
        "verify": _verified,
        "scenario_search": _scenario_search,
        "sweep": _sweep,
        "setting_sweep": _setting_sweep,
        "request_sets": _request_sets,
        "alpha_sweep": _change,
        "audit": _audit,
        "oracles": _oracles,
        "forgetting": _forgetting,
        "atlas": _atlas,
    }
    return makers[stage](suite, job) if stage in makers else []


def _variant(suite: Suite, job: Job) -> list[str]:
    return ["--variant", job.part]


def _verified(suite: Suite, job: Job) -> list[str]:
    return ["--variants", *suite.variants_of(job.scenario)]


def _scenario_search(suite: Suite, job: Job) -> list[str]:
    return ["--search", _json(to_plain(suite.scenario_searches[job.scenario, job.part]))]


def _sweep(suite: Suite, job: Job) -> list[str]:
    sweep = suite.sigma_sweeps[job.part]
    end = ["--seeds-end", str(suite.seeds_end(sweep))]
    limits = [*_count("--rounds", sweep.rounds), *_count("--requests", sweep.requests)]
    return ["--variant", sweep.variant, "--sigmas", *map(str, sweep.values), *end, *limits]


def _setting_sweep(suite: Suite, job: Job) -> list[str]:
    sweep = suite.setting_sweeps[job.part]
    limits = [*_count("--rounds", sweep.rounds), "--seeds-end", str(suite.seeds_end(sweep))]
    return ["--variant", sweep.variant, "--setting", sweep.key, "--values", *map(str, sweep.values), *limits]


def _request_sets(suite: Suite, job: Job) -> list[str]:
    sets = suite.run.request_sets
    if sets is None:
        return []
    count = ["--count", str(sets.count), "--seeds-end", str(suite.seeds_end(sets))]
    return ["--variants", *suite.set_variants, *count]


def _change(suite: Suite, job: Job) -> list[str]:
    sweep, change = suite.run.alpha_sweep, suite.changes[job.part].change
    limit = _count("--rounds", sweep.rounds if sweep else None)
    return ["--name", job.part, "--change", _json(change), *limit]


def _audit(suite: Suite, job: Job) -> list[str]:
    audits = suite.run.audits_of[job.scenario]
    counts = ["--models", str(audits.models), *_count("--more-models", audits.more_models)]
    after = ["--requests", *map(str, audits.requests), "--who", *audits.who]
    return ["--variants", *suite.audit_variants(job.scenario), *counts, *after]


def _oracles(suite: Suite, job: Job) -> list[str]:
    oracles = suite.run.oracles
    if oracles is None:
        return []
    after = ["--requests", *map(str, oracles.requests)]
    limits = [*_count("--relearn-rounds", oracles.relearn_rounds), *_count("--rounds", oracles.rounds)]
    more = [*limits, "--federation", suite.blocks_of(job.scenario)[0]]
    return ["--variants", *suite.oracle_variants(job.scenario), *after, *more]


def _forgetting(suite: Suite, job: Job) -> list[str]:
    return ["--blocks", *(one.block for one in suite.jobs["oracles"] if one.scenario == job.scenario)]


def _atlas(suite: Suite, job: Job) -> list[str]:
    return ["--clients", job.part, "--federation", suite.blocks_of(job.scenario)[0]]


def _count(flag: str, count: int | None) -> list[str]:
    return [flag, str(count)] if count else []
