"""report: all tables -> statistics over seeds and tables for people. Reads Parquet, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from sifu.config.search import FORGETS
from sifu.plan.code_hash import code_hash
from sifu.plan.report_plan import ReportPlan
from sifu.report import bounds, certificates, tables
from sifu.report.atlas import CAPTION as ATLAS_CAPTION
from sifu.report.atlas import atlas_table, one_class
from sifu.report.audits import CAPTION, audit_table
from sifu.report.carried import CAPTION as FORGOTTEN_CAPTION
from sifu.report.carried import TO_TARGET, Carried
from sifu.report.deletion_test import verification
from sifu.report.distances import CAPTION as DISTANCE_CAPTION
from sifu.report.distances import distance_table
from sifu.report.fats import CAPTION as FATS_CAPTION
from sifu.report.fats import fats_table
from sifu.report.forgetting import forgetting_table, with_original
from sifu.report.forgetting_words import CAPTION as FORGETTING_CAPTION
from sifu.report.forgetting_words import MORE_CAPTION
from sifu.report.frontier import frontier
from sifu.report.inverted import CAPTION as INVERTED_CAPTION
from sifu.report.inverted import inverted_table, known_inverted
from sifu.report.methods import methods_csv, methods_latex, methods_page
from sifu.report.missing import missing_names, missing_words, stage_of
from sifu.report.plain_text import csv_text, markdown_text
from sifu.report.power import caption as power_caption
from sifu.report.power import power_table
from sifu.report.results import Results
from sifu.report.scenario_searches import WHEN_SEARCHED, scenario_searches
from sifu.report.searches import searches
from sifu.report.survivors import frontier_for_people, own_sigmas
from sifu.store.parquet import write_table, write_text
from sifu.store.paths import tables_folder
from sifu.store.provenance import provenance
from sifu.store.report_schemas import BOUNDS, CERTIFICATES, FRONTIER, STATISTICS

CAPTIONS = {
    "atlas": ATLAS_CAPTION,
    "audit": CAPTION,
    "distances": DISTANCE_CAPTION,
    "forgetting": f"{FORGETTING_CAPTION} {MORE_CAPTION}",
    "inverted": INVERTED_CAPTION,
    "fats": FATS_CAPTION,
    "headline": "After each request, recovered to the target accuracy: mean over seeds and its 95% bootstrap interval; "
    "of numbers compared with scratch's, for up to 10 seeds, also Student's after `t`. `cost / scratch`: client steps, "
    "calibration included, and with the first request those of spare clients in the training, over scratch's; "
    "`speed-up`: scratch's over these, seed by seed. `forget gap`: absolute "
    "difference to scratch's accuracy on the clients of this request; `floor`: the same of scratch, run again with "
    "other cohorts and batches; `not above`: both intervals of the gap reach down to it. Where a seed did not meet the "
    "target, rounds are a lower bound (>=: those it was stopped at count), and no ratio of costs is shown; nor where "
    "scratch did not. `claimed epsilon` and `claimed delta` are what the method promises, each to whom it says (table "
    "`certificates`); `actual epsilon` at the claimed delta and `actual delta` at the claimed epsilon count all "
    "clients of this request together, with the weights that the aggregation used, and the noise exactly; it holds if "
    "the contraction B does (table `bounds`). `spent epsilon`: what noise in every round spends for one client by this "
    "request, by a privacy accountant at the claimed delta (what is claimed: table `certificates`). "
    f"{FORGOTTEN_CAPTION} Accuracy is the weaker measure: where a request takes all "
    "clients of a class, scratch has 0 on it, and so has any model that no longer names the class.",
    "budgets": "Absolute gaps of accuracy to scratch (run to its own target) when recovery may take a share of the "
    "training's client steps (less where the scenario ends it at the target, `budget_ends`): mean over seeds "
    "and its 95% bootstrap interval; for up to 10 seeds also Student's after `t`. `floor`: the gap of "
    "scratch, run again to its target with other cohorts and batches; `not above`: both intervals of a gap reach down "
    f"to it. `{TO_TARGET}`: what is said of the same method's answers to its target (`forgotten?` of table "
    "`headline`): budgets were not judged by twins.",
    "certificates": "What is promised and what holds, after each request to the target: medians over seeds, with the "
    "worst seed. A row a count: the promise itself (`claimed`, as the largest ratio that keeps it), the worst client "
    "of the request alone, all clients of the request together, all clients forgotten so far, and as measured by a "
    "training without the request's clients (alpha). `ratio`: sensitivity over noise, from which epsilon and delta "
    "follow exactly. Counts hold if the contraction B does, the measured one without that, for noise in every round "
    "without any assumption on the loss, conditional on who was sampled. `promise kept`: in how many seeds the count "
    "is within the promise, with the exact 95% interval; `(what is claimed)` marks the count that the promise is "
    "about. What is claimed of noise in every round stands at its own point alone: it has no one ratio. "
    "`spent epsilon`: by a privacy accountant over all rounds, with the sampling that was used, at the claimed "
    f"delta; it decides whether a promise to one client is kept. {FORGOTTEN_CAPTION}",
    "frontier": "Certificates that survive, cheapest first. `holds for`: all clients of a request together, or each "
    "client alone, in every seed and request, by the exact noise formula, with the seats of forgotten clients taken by "
    "the next in line; where a distance was measured, it is hidden, too. `cost / scratch`: client steps of all "
    "requests, and of spare clients in the training, over scratch's, seed by seed, then averaged, with the 95% t "
    "interval. `epsilon`: the real one at delta = 0.01, the largest of any seed and request; for noise in every round, "
    "what an accountant says, where that is the claimed delta. `epsilon at delta = 1e-5`, `delta at epsilon = 1` and "
    "`10`: for those for whom it holds (`holds for`); not of noise in every round. `exact by design`: what never saw a "
    "client has nothing to hide, and was not counted. If B holds; `measured` assumes nothing. `its own`: that of the "
    "method's certificate; other values of sigma are from the sweep, which may have fewer seeds, and was not asked "
    f"whether clients were forgotten. {FORGOTTEN_CAPTION}",
    "search": "Values that were tried for settings of a method, on seeds that are not reported, each with the same "
    "budget: trainings of a method that has its own, otherwise answers to the first request. Chosen is what reaches "
    "the target on most seeds, forgets, and takes the fewest client steps, calibration included; where none reaches "
    "it, the most accurate. `remembers`: how much more accurate than scratch on the data of forgotten clients; up to "
    f"{FORGETS:g} is to forget, and if no value does, the nearest is chosen. Costs are lower bounds (>=) where a seed "
    "was stopped before its target.",
    "scenario_search": "Values that were tried for settings of a scenario that the paper leaves open, on seeds that "
    "are not reported, each with the same budget: a training (`rounds`) and the first request (`recovery`). `used` is "
    f"the config's, as in all other tables (`{WHEN_SEARCHED}`: it was then, and is no longer); `chosen` diverges "
    "nowhere, meets the target both times on most seeds, then takes the fewest client steps. Costs are lower bounds "
    "(>=) where a seed was stopped before a target.",
    "verification": "Did it delete my data? Forgotten clients query the model with triggered images that nobody "
    "trained on, and count how often they get their own label. They accuse the server from the count that a model "
    "which never saw them reaches with a chance of at most alpha (`type I`), given the client's own count under "
    "scratch in the same seed, as clients differ in how often they get their label by chance. `clients that accuse`: "
    "each alone. Scratch is compared with its model of another request: its row says how often an honest server is "
    "accused in fact. `together`: all of them with one count, in how many seeds, with the exact 95% interval. `power`: "
    "how often they accuse the original model, which forgot nobody. A method that is not accused by a test with a "
    "power below 50% is not unnoticed: the test cannot tell. `type II`: the chance that a server whose model answers "
    "at the rate seen is believed. Means over seeds, after each request to the target.",
    "settings": "The most important settings of every scenario, as it was trained (as in the paper's Table 2).",
    "bounds": "Is Psi a bound? The share of measured points (round, client, seed) where alpha(n, c) <= Psi(n, c) with "
    "the scenario's B, in how many seeds it does so at every point (with the exact 95% interval: points of a seed are "
    "not independent), and the worst ratio: under the scenario's own settings, and under less adapted ones, some of "
    "which do not converge. Where nothing is unlearned yet, the released code counts as published.",
}


def run_report(plan: ReportPlan, folder: Path) -> None:
    """Writes statistics and the tables that people read to `folder`/tables; each says what is missing."""
    source, out = Results(plan), tables_folder(folder)
    numbers, labels = source.statistics, plan.labels
    names = {"scenarios": list(plan.titles), "blocks": plan.blocks}
    stamp = provenance("report", names, code_hash("sifu.stages.report"), "cpu")
    write_table(out / "statistics.parquet", STATISTICS, numbers, stamp)
    write_text(out / "statistics.csv", csv_text(numbers))
    limits = bounds.psi_limits(source.cells)
    write_table(out / "bounds.parquet", BOUNDS, bounds.bounds_by_seed(source.alpha, limits), stamp)
    promises = certificates.certificates(source.cells)
    write_table(out / "certificates.parquet", CERTIFICATES, promises, stamp)
    honest = frontier(source.cells, source.sweep, source.refuted)
    write_table(out / "frontier.parquet", FRONTIER, honest, stamp)
    told = Carried(source)
    shown = {
        "headline": told.by_request(tables.headline(numbers, labels)),
        "forgetting": forgetting_table(source.forgetting, source.distances, labels),
        "distances": distance_table(source.distances, with_original(labels)),
        "power": power_table(source.power),
        "inverted": inverted_table(known_inverted(source.cells, source.metrics), labels, plan.methods),
        "fats": fats_table(source.cells, numbers, source.made_with("fats"), labels),
        "budgets": told.to_target(tables.budgets(numbers, labels)),
        "certificates": told.by_request(certificates.for_people(promises, labels)),
        "frontier": told.of_own_noise(frontier_for_people(honest, plan.unmarked, labels, own_sigmas(source.cells))),
        "search": searches(source.trials, labels),
        "scenario_search": scenario_searches(source.scenario_trials, plan.settings),
        "verification": verification(source.verification, labels),
        "bounds": bounds.bounds_that_hold(source.alpha, plan.changes),
        "audit": audit_table(source.audit, labels),
        "atlas": atlas_table(source.atlas, one_class(source.plan.settings)),
        "settings": tables.hyper_parameters(plan.titles, source.settings),
    }
    for name, table in shown.items():
        caption = power_caption(source.power) if name == "power" else CAPTIONS[name]
        _write_people_table(out, name, table, caption, source)
    for kind, made in (("md", methods_page), ("csv", methods_csv), ("tex", methods_latex)):
        write_text(out / f"methods.{kind}", made(plan.methods.values()))


_SOURCES = {  # the stages that a table is made of: what is missing of others does not concern it
    "headline": ("unlearn", "verify", "forgetting"),
    "forgetting": ("oracles", "forgetting"),
    "distances": ("oracles", "forgetting"),
    "power": ("oracles", "forgetting"),
    "inverted": ("unlearn", "verify"),
    "fats": ("unlearn", "verify"),
    "budgets": ("unlearn", "verify", "forgetting"),
    "certificates": ("unlearn", "verify", "forgetting"),
    "frontier": ("unlearn", "sweep", "verify", "forgetting"),
    "search": ("search",),
    "scenario_search": ("scenario_search",),
    "verification": ("verify",),
    "bounds": ("alpha", "alpha_sweep"),
    "audit": ("audit",),
    "atlas": ("atlas",),
    "settings": ("train",),
}


def _write_people_table(folder: Path, name: str, table: pd.DataFrame, caption: str, source: Results) -> None:
    missing = [file for file in source.missing if stage_of(file, source.root) in _SOURCES[name]]
    write_text(folder / f"{name}.csv", csv_text(table))
    count = f" {missing_words(missing)}." if missing else ""
    write_text(folder / f"{name}.tex", tables.latex(table, caption + count))
    caption += f" Missing: {'; '.join(missing_names(missing, source.root))}." if missing else ""
    write_text(folder / f"{name}.md", tables.markdown(markdown_text(_named(table, source.plan.titles)), caption))


def _named(table: pd.DataFrame, titles: Mapping[str, str]) -> pd.DataFrame:
    """The table as people read it: scenarios by their titles, and by their ids in a last column."""
    if "scenario" not in table or not set(table["scenario"]) <= set(titles):  # settings have titles already
        return table
    ids = table["scenario"]
    return table.assign(**{"scenario": ids.map(dict(titles)), "scenario id": ids})
