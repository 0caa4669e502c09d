"""The parts of the page that are tables, each folded; nothing where there is nothing to show."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from sifu.report import certificates, promises, tables
from sifu.report.atlas import CAPTION as ATLAS_CAPTION
from sifu.report.atlas import atlas_table, one_class
from sifu.report.audits import CAPTION as AUDIT_CAPTION
from sifu.report.audits import audit_table
from sifu.report.carried import Carried
from sifu.report.deletion_test import verification
from sifu.report.distances import CAPTION as DISTANCE_CAPTION
from sifu.report.distances import distance_table
from sifu.report.fats import CAPTION as FATS_CAPTION
from sifu.report.fats import fats_table
from sifu.report.forgetting import MORE, forgetting_table, with_original
from sifu.report.forgetting_words import COLUMNS, INTRODUCTION
from sifu.report.frontier import frontier
from sifu.report.html import definitions, filtered_table, folded, html_table
from sifu.report.inverted import CAPTION as INVERTED_CAPTION
from sifu.report.inverted import inverted_table, known_inverted
from sifu.report.marked import marked
from sifu.report.methods import CAPTION as METHODS_CAPTION
from sifu.report.methods import numbered, table_1
from sifu.report.results import Results
from sifu.report.scenario_searches import scenario_searches
from sifu.report.searches import searches
from sifu.report.survivors import frontier_for_people, own_sigmas

_WHO = ("scenario", "method")


def titled(source: Results, table: pd.DataFrame) -> pd.DataFrame:
    """A table in the order of the plan's scenarios, with their names in place of their keys."""
    if "scenario" not in table:
        return table
    titles = source.plan.titles
    order = {name: place for place, name in enumerate(titles)}
    table = table.sort_values("scenario", key=lambda names: names.map(order), kind="stable")
    return table.assign(scenario=[titles.get(str(name), name) for name in table["scenario"]])


def requests(source: Results, told: Carried) -> str:
    """Every method after every request, with filters."""
    table = told.by_request(tables.headline(source.statistics, source.plan.labels))
    if not len(table):
        return ""
    note = "<p>After each request, recovered to the target: mean over seeds [95% interval]. Where a seed "
    note += "did not meet it, rounds are a lower bound and costs are not compared. Click a title to sort.</p>"
    shown = filtered_table(titled(source, table), "headline", (*_WHO, "request"), ("scenario", "request"))
    return folded("Every method after every request", note + shown)


def forgetting(source: Results, folder: Path) -> str:
    """What many models say of forgetting."""
    table = forgetting_table(source.forgetting, source.distances, source.plan.labels).drop(columns=list(MORE))
    if not len(table):
        return ""
    words = f"<p>{marked(INTRODUCTION, folder)}</p>{definitions(COLUMNS, folder)}"
    shown = filtered_table(titled(source, table), "forgetting-table", (*_WHO, "request"))
    return folded("Was it forgotten? By many models", words + shown)


def distances(source: Results, folder: Path) -> str:
    """How far the models of a method are from retrained ones."""
    table = titled(source, distance_table(source.distances, with_original(source.plan.labels)))
    shown = filtered_table(table, "distances", (*_WHO, "request", "subset")) if len(table) else ""
    return _captioned(table, "How far from retrained models", DISTANCE_CAPTION, shown, folder)


def inverted(source: Results, folder: Path) -> str:
    """What inverted images show, and accuracy does not."""
    found = known_inverted(source.cells, source.metrics)
    table = titled(source, inverted_table(found, source.plan.labels, source.plan.methods))
    shown = filtered_table(table, "inverted", (*_WHO, "request")) if len(table) else ""
    return _captioned(table, "What inverted images show", INVERTED_CAPTION, shown, folder)


def fats(source: Results, folder: Path) -> str:
    """What FATS costs against rho."""
    settings = source.made_with("fats")
    table = titled(source, fats_table(source.cells, source.statistics, settings, source.plan.labels))
    shown = html_table(table, "fats", sortable=True)
    return _captioned(table, "What FATS costs against rho", FATS_CAPTION, shown, folder)


def atlas(source: Results, folder: Path) -> str:
    """What trainings remember of each client."""
    table = titled(source, atlas_table(source.atlas, one_class(source.plan.settings)))
    shown = html_table(table, "atlas", sortable=True)
    return _captioned(table, "Atlas: what is remembered of each client", ATLAS_CAPTION, shown, folder)


def claimed_and_actual(source: Results, folder: Path) -> str:
    """What is left of promises after the last request."""
    found = certificates.certificates(source.cells)
    last = found[found["request"] == found.groupby("scenario")["request"].transform("max")]
    if not len(last):
        return ""
    table = titled(source, promises.promises(last, source.plan.labels))
    words = promises.NOTE + promises.left_out(last, source.plan.labels)
    shown = filtered_table(table, "claims", _WHO) if len(table) else ""
    return folded("Claimed and actual", f"<p>{marked(words, folder)}</p>{shown}")


def honest(source: Results, told: Carried) -> str:
    """What certificates that survive cost."""
    plan = source.plan
    found, own = frontier(source.cells, source.sweep, source.refuted), own_sigmas(source.cells)
    table = titled(source, told.of_own_noise(frontier_for_people(found, plan.unmarked, plan.labels, own)))
    return folded("What certificates that survive cost", filtered_table(table, "frontier", _WHO)) if len(table) else ""


def checks(source: Results) -> str:
    """What clients find out themselves."""
    table = titled(source, verification(source.verification, source.plan.labels))
    return folded("The clients' own test of deletion", filtered_table(table, "checks", _WHO)) if len(table) else ""


def audits(source: Results, folder: Path) -> str:
    """What counting trainings with and without clients proves."""
    table = titled(source, audit_table(source.audit, source.plan.labels))
    shown = html_table(table, "audit", sortable=True)
    return _captioned(table, "Audits by counting trainings", AUDIT_CAPTION, shown, folder)


def _captioned(table: pd.DataFrame, title: str, caption: str, shown: str, folder: Path) -> str:
    return folded(title, f"<p>{marked(caption, folder)}</p>{shown}") if len(table) else ""


def assumptions(source: Results, folder: Path) -> str:
    """What every method assumes and stores: the paper's Table 1, with its footnotes."""
    rows, notes = table_1(source.plan.methods.values())
    table = pd.DataFrame(rows).map(lambda text: text.replace("`", ""))
    below = "".join(f"<p>{marked(note, folder)}</p>" for note in numbered(notes))
    shown = html_table(table, "assumptions", sortable=True)
    return folded("What every method assumes (Table 1)", f"<p>{marked(METHODS_CAPTION, folder)}</p>{shown}{below}")


def tried(source: Results) -> str:
    """What was tried for the settings of methods and scenarios."""
    found = {
        "methods": searches(source.trials, source.plan.labels),
        "scenarios": scenario_searches(source.scenario_trials, source.plan.settings),
    }
    return "".join(
        folded(f"What was tried for settings of {name}", filtered_table(titled(source, table), f"tried-{name}", by))
        for (name, table), by in zip(found.items(), (_WHO, ("scenario",)), strict=True)
        if len(table)
    )
