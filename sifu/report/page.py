"""The report: one HTML file that opens offline, made of the tables and figures of a plan."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template

import pandas as pd
import yaml

from sifu.plan.report_plan import ReportPlan
from sifu.report import certificates, tables
from sifu.report.atlas import CAPTION as ATLAS_CAPTION
from sifu.report.atlas import atlas_table, one_class
from sifu.report.audits import CAPTION as AUDIT_CAPTION
from sifu.report.audits import audit_table
from sifu.report.data_used import parts_in_words
from sifu.report.deletion_test import verification
from sifu.report.figures.overview import draw_narrow, drawn_scenarios
from sifu.report.findings import findings
from sifu.report.forgetting import CAPTION, MORE, forgetting_table, with_forgotten
from sifu.report.frontier import frontier, frontier_for_people
from sifu.report.html import folded, html_table, image, two_images
from sifu.report.image import png
from sifu.report.key_findings import key_findings
from sifu.report.leaderboard import RowCommand, leaderboard, row_command, with_targets
from sifu.report.looked_good import looked_good
from sifu.report.methods import CAPTION as METHODS_CAPTION
from sifu.report.methods import numbered, table_1
from sifu.report.missing import missing_names, missing_words
from sifu.report.plain_text import for_figures
from sifu.report.results import Results
from sifu.report.searches import scenario_searches, searches
from sifu.report.standings import Standing, main_scenarios, standings
from sifu.report.verdict_strip import ClaimRow, verdict_strip
from sifu.store.paths import figure_file

_TEMPLATE = Path(__file__).with_name("page.html")
_MAX_NAMES = 8  # of scenarios, at the top of the page
_PICTURE = "overview"  # the figure that the page opens with
_DEVIATIONS, _TABLE = "docs/replication/deviations.md", "deviations-from-the-paper"  # in a checkout


def build_page(
    source: Results, folder: Path, command: str, claims: Sequence[ClaimRow] = (), again: RowCommand | None = None
) -> str:
    """The page; `folder` holds the figures, `command` is what makes this run again.

    `claims`: rows of the verdict strip; `again`: what runs a row of the leaderboard again, where there is a better
    command than Snakemake's.
    """
    rows = standings(source)
    parts = {
        "In one look": _picture(source, folder, command, rows),
        "Leaderboard": leaderboard(source.plan, rows, again or row_command(source.plan, command)),
        **({"Verdicts": verdict_strip(list(claims))} if claims else {}),
        "Figures": _figures(source.plan, folder, command),
        "Certificates": _certificates(source),
        "Forgetting": _forgetting(source, rows) + _atlas(source),
        "Searches": _searches(source),
        "Details": _details(source, command),
    }
    parts = {name: body for name, body in parts.items() if body}
    navigation = "".join(f'<a href="#{_anchor(name)}">{name}</a>' for name in parts)
    sections = [f'<section id="{_anchor(name)}"><h2>{name}</h2>{body}</section>' for name, body in parts.items()]
    lead = f"{_scenarios(source.plan)}. {_seeds(source)} Every number here is generated from the tables of this run."
    return Template(_TEMPLATE.read_text()).substitute(
        title="Federated unlearning: report",
        lead=escape(lead) + _data(source, folder),
        navigation=navigation,
        sections="\n".join(sections),
        footer=escape("Made by the SIFU benchmark suite for federated unlearning."),
    )


def _scenarios(plan: ReportPlan) -> str:
    """The names of the scenarios; of many only the first on each dataset."""
    if len(plan.titles) <= _MAX_NAMES:
        return "; ".join(plan.titles.values())  # names have commas
    first = "; ".join(plan.titles[name] for name in main_scenarios(plan))
    return f"{len(plan.titles)} scenarios: {first}; and others with the same data"


def _anchor(name: str) -> str:
    return name.lower().replace(" ", "-")


def _seeds(source: Results) -> str:
    """How many seeds the scenarios have: `3 to 10 seeds.`"""
    counts = source.cells.groupby("scenario")["seed"].nunique()
    least, most = (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)
    return f"{most} {'seed' if most == 1 else 'seeds'}." if least == most else f"{least} to {most} seeds."


def _data(source: Results, folder: Path) -> str:
    """That only a part of a dataset was used, and where all deviations from the paper are listed."""
    parts = parts_in_words(source.data)
    if not parts:
        return ""
    page = os.path.relpath(_DEVIATIONS, folder) if not folder.is_absolute() else ""
    name = f'<a href="{escape(page)}#{_TABLE}">{_DEVIATIONS}</a>' if page else f"<code>{_DEVIATIONS}</code>"
    return f" {escape(parts)} What else differs from the SIFU paper: {name}."


def _picture(source: Results, folder: Path, command: str, rows: list[Standing]) -> str:
    """The picture, four findings, and what is missing."""
    shown = drawn_scenarios(source.plan, rows)
    found = key_findings(source.plan, [row for row in rows if row.scenario in shown])
    items = "".join(f"<li><b>{escape(head)}</b> {escape(text)}</li>" for head, text in found)
    items = items or "<li>Nothing has been unlearned yet.</li>"
    note = f'<p class="missing">{_left_out(source.plan)}</p>' if source.plan.left_out else ""
    if missing := source.all_missing():
        named = "".join(f"<li><code>{escape(path)}</code></li>" for path in missing_names(missing, source.root))
        note += folded(f"{missing_words(missing)}", f"<ul>{named}</ul>").replace(
            "<summary>", '<summary class="missing">'
        )
    narrow = png(draw_narrow(Results(for_figures(source.plan))))
    return f'{_figure(folder, command, _PICTURE, narrow)}<ol class="findings">{items}</ol>{note}'


def _left_out(plan: ReportPlan) -> str:
    return escape(f"Planned and not run, as their datasets are missing: {', '.join(plan.left_out)}.")


def _requests(source: Results) -> str:
    """Every method after every request, with filters."""
    labels = source.plan.labels
    table = with_forgotten(tables.headline(source.statistics, labels), source.forgetting, labels)
    if not len(table):
        return ""
    table = _titled(source, table)
    columns = list(table.columns)
    choices = "".join(_choice(table, columns, name) for name in ("scenario", "method", "request"))
    search = '<label>contains<input type="search" placeholder="any text"></label>'
    filters = f'<div class="filters" data-table="headline">{choices}{search}</div>'
    note = "<p>After each request, recovered to the target: mean over seeds [95% interval]. Where a seed "
    note += "did not meet it, rounds are a lower bound and costs are not compared. Click a title to sort.</p>"
    return folded("Every method after every request", note + filters + html_table(table, "headline", sortable=True))


def _titled(source: Results, table: pd.DataFrame) -> pd.DataFrame:
    """A table with the names of its scenarios in place of their keys."""
    if "scenario" not in table:
        return table
    return table.assign(scenario=[source.plan.titles.get(str(name), name) for name in table["scenario"]])


def _forgetting(source: Results, rows: list[Standing]) -> str:
    """What many models say of forgetting, and what accuracy misses; nothing where it was not measured."""
    table = forgetting_table(source.forgetting, source.distances, source.plan.labels).drop(columns=list(MORE))
    if not len(table):
        return ""
    shown = html_table(_titled(source, table), "forgetting-table", sortable=True)
    told = looked_good(source.plan, rows)
    words = f"<p>{escape(told)}</p>" if told else ""
    return words + folded("Was it forgotten? By many models", f"<p>{escape(CAPTION)}</p>{shown}")


def _atlas(source: Results) -> str:
    """What trainings remember of each client; nothing where it was not measured."""
    table = atlas_table(source.atlas, one_class(source.plan.settings))
    if not len(table):
        return ""
    shown = html_table(_titled(source, table), "atlas", sortable=True)
    return folded("Atlas: what is remembered of each client", f"<p>{escape(ATLAS_CAPTION)}</p>{shown}")


def _choice(table: pd.DataFrame, columns: list[str], name: str) -> str:
    first = "1" if name == "request" else ""
    values = ["", *dict.fromkeys(str(value) for value in table[name])]
    options = "".join(
        f'<option value="{escape(value)}"{" selected" if value == first else ""}>{escape(value) or "all"}</option>'
        for value in values
    )
    return f'<label>{name}<select data-column="{columns.index(name)}">{options}</select></label>'


def _figures(plan: ReportPlan, folder: Path, command: str) -> str:
    names = [name for name in plan.figures if name != _PICTURE]
    return folded(f"{len(names)} figures", "".join(_figure(folder, command, name) for name in names))


def _figure(folder: Path, command: str, name: str, narrow: bytes | None = None) -> str:
    """A figure with its caption, folded, and the command that draws it again; `narrow`: the same for a phone."""
    path, caption = figure_file(folder, name, "png"), figure_file(folder, name, "md")
    if not path.exists():
        return f'<p class="missing">Figure {name} has not been drawn.</p>'
    title, _, text = caption.read_text(errors="replace").strip().removeprefix("**").partition("**")
    again = with_targets(command, [str(path)])
    words = f"{escape(text.strip())} <br>Again: <code>{escape(again)}</code>"
    head = "" if name == _PICTURE else f"<h3>{escape(title)}</h3>"
    drawn = path.read_bytes()
    shown = two_images(drawn, narrow, title) if narrow else image(drawn, title)
    return (
        f'<figure id="figure-{name}">{head}{shown}'
        f"<figcaption><details><summary>How to read it</summary>{words}</details></figcaption></figure>"
    )


def _certificates(source: Results) -> str:
    """What is left of promises after the last request, what surviving ones cost, what clients find out themselves."""
    parts = []
    found = certificates.certificates(source.cells)
    last = found[found["request"] == found.groupby("scenario")["request"].transform("max")]
    claims = certificates.for_people(last, source.plan.labels)
    if len(claims):
        note = "<p>After the last request; the table `certificates` has all.</p>"
        shown = html_table(_titled(source, claims), "claims", sortable=True)
        parts.append(folded("Claimed and actual", note + shown))
    honest = frontier_for_people(frontier(source.cells, source.sweep), source.plan.unmarked, source.plan.labels)
    if len(honest):
        shown = html_table(_titled(source, honest), "frontier", sortable=True)
        parts.append(folded("What certificates that survive cost", shown))
    checks = verification(source.verification, source.plan.labels)
    if len(checks):
        shown = html_table(_titled(source, checks), "checks", sortable=True)
        parts.append(folded("The clients' own test of deletion", shown))
    parts.append(_audits(source))
    return "".join(parts) or "<p>No method of this run gives a certificate.</p>"


def _audits(source: Results) -> str:
    """What counting trainings with and without clients proves; nothing where no audit was made."""
    table = audit_table(source.audit, source.plan.labels)
    if not len(table):
        return ""
    shown = html_table(_titled(source, table), "audit", sortable=True)
    return folded("Audits by counting trainings", f"<p>{escape(AUDIT_CAPTION)}</p>{shown}")


def _assumptions(source: Results) -> str:
    """What every method assumes and stores: the paper's Table 1, with its footnotes."""
    rows, notes = table_1(source.plan.methods.values())
    table = pd.DataFrame(rows).map(lambda text: text.strip("`"))
    below = "".join(f"<p>{escape(note)}</p>" for note in numbered(notes))
    shown = html_table(table, "assumptions", sortable=True)
    return folded("What every method assumes (Table 1)", f"<p>{escape(METHODS_CAPTION)}</p>{shown}{below}")


def _searches(source: Results) -> str:
    """What was tried for the settings of methods and scenarios; nothing where no search was made."""
    tried = {
        "methods": searches(source.trials, source.plan.labels),
        "scenarios": scenario_searches(source.scenario_trials),
    }
    return "".join(
        folded(f"What was tried for settings of {name}", html_table(_titled(source, table), f"tried-{name}"))
        for name, table in tried.items()
        if len(table)
    )


def _details(source: Results, command: str) -> str:
    """Every request, findings scenario by scenario, what methods assume, settings, and where the numbers come from."""
    items = "".join(f"<li>{escape(text)}</li>" for text in findings(source))
    return "".join(
        [
            _requests(source),
            folded("Findings, scenario by scenario", f"<ul>{items}</ul>"),
            _assumptions(source),
            folded("Settings", _settings(source)),
            folded("Where the numbers come from", _provenance(source, command)),
        ]
    )


def _settings(source: Results) -> str:
    parts = [html_table(tables.hyper_parameters(source.plan.titles, source.settings), "settings-table")]
    for name, plain in source.settings.items():
        text = escape(yaml.safe_dump(plain, sort_keys=False))
        parts.append(folded(f"{source.plan.titles[name]}: every setting", f"<pre>{text}</pre>"))
    return "".join(parts)


def _provenance(source: Results, command: str) -> str:
    table = pd.DataFrame(source.stamps, columns=["scenario", "block", "commit", "code", "rules", "torch", "device"])
    return f"<p>Everything again: <code>{escape(command)}</code></p>" + html_table(_titled(source, table), "stamps")
