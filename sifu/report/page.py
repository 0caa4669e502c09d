"""The report: one HTML file that opens offline, made of the tables and figures of a plan."""

from __future__ import annotations

import base64
import os
from html import escape
from pathlib import Path
from string import Template

import pandas as pd
import yaml

from sifu.catalog.figures import FIGURES
from sifu.plan.report_plan import ReportPlan
from sifu.report import certificates, tables
from sifu.report.data_used import parts_in_words
from sifu.report.deletion_test import verification
from sifu.report.findings import findings
from sifu.report.forgetting import CAPTION, forgetting_table, with_forgotten
from sifu.report.frontier import frontier, frontier_for_people
from sifu.report.image import DPI
from sifu.report.missing import missing_names, missing_words
from sifu.report.results import Results
from sifu.store.paths import figure_file

_TEMPLATE = Path(__file__).with_name("page.html")
_DEVIATIONS, _TABLE = "docs/replication/index.md", "deviations-from-the-paper"  # in a checkout


def build_page(source: Results, folder: Path, command: str) -> str:
    """The page; `folder` holds the figures, `command` is what makes this run again."""
    parts = {
        "Findings": _findings(source),
        "Methods": _headline(source),
        **_forgetting(source),
        "Figures": _figures(folder, command),
        "Certificates": _certificates(source),
        "Settings": _settings(source),
        "Provenance": _provenance(source, command),
    }
    navigation = "".join(f'<a href="#{_anchor(name)}">{name}</a>' for name in parts)
    sections = [f'<section id="{_anchor(name)}"><h2>{name}</h2>{body}</section>' for name, body in parts.items()]
    titles = ", ".join(source.plan.titles.values())
    lead = f"{titles}. {_seeds(source)} Every number here is generated from the tables of this run."
    return Template(_TEMPLATE.read_text()).substitute(
        title="Federated unlearning: report",
        lead=escape(lead) + _data(source, folder),
        navigation=navigation,
        sections="\n".join(sections),
        footer=escape("Made by the SIFU benchmark suite for federated unlearning."),
    )


def _anchor(name: str) -> str:
    return name.lower().rstrip("?")


def _seeds(source: Results) -> str:
    count = source.cells["seed"].nunique()
    return f"{count} {'seed' if count == 1 else 'seeds'}."


def _data(source: Results, folder: Path) -> str:
    """That only a part of a dataset was used, and where all deviations from the paper are listed."""
    parts = parts_in_words(source.data, source.plan.titles)
    if not parts:
        return ""
    page = os.path.relpath(_DEVIATIONS, folder) if not folder.is_absolute() else ""
    name = f'<a href="{escape(page)}#{_TABLE}">{_DEVIATIONS}</a>' if page else f"<code>{_DEVIATIONS}</code>"
    return f" {escape(parts)} What else differs from the SIFU paper: {name}."


def _findings(source: Results) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in findings(source))
    note = f'<p class="missing">{_left_out(source.plan)}</p>' if source.plan.left_out else ""
    if missing := source.all_missing():
        named = "".join(f"<li><code>{escape(path)}</code></li>" for path in missing_names(missing, source.root))
        note += f'<p class="missing">{missing_words(missing)}:</p><ul>{named}</ul>'
    return f'<ul class="findings">{items}</ul>{note}'


def _left_out(plan: ReportPlan) -> str:
    return escape(f"Planned and not run, as their datasets are missing: {', '.join(plan.left_out)}.")


def _headline(source: Results) -> str:
    labels = source.plan.labels
    table = with_forgotten(tables.headline(source.statistics, labels), source.forgetting, labels)
    if not len(table):
        return "<p>Nothing has been unlearned yet.</p>"
    table = table.assign(scenario=table["scenario"].map(source.plan.titles))
    columns = list(table.columns)
    choices = "".join(_choice(table, columns, name) for name in ("scenario", "method", "request"))
    search = '<label>contains<input type="search" placeholder="any text"></label>'
    filters = f'<div class="filters" data-table="headline">{choices}{search}</div>'
    note = "<p>After each request, recovered to the target: mean over seeds [95% interval]. Where a seed "
    note += "did not meet it, rounds are a lower bound and costs are not compared. Click a title to sort.</p>"
    return note + filters + html_table(table, "headline", sortable=True)


def _forgetting(source: Results) -> dict[str, str]:
    """What many models say of forgetting; nothing where it was not measured."""
    table = forgetting_table(source.forgetting, source.distances, source.plan.labels)
    if not len(table):
        return {}
    table = table.assign(scenario=table["scenario"].map(source.plan.titles))
    return {"Forgotten?": f"<p>{escape(CAPTION)}</p>" + html_table(table, "forgetting", sortable=True)}


def _choice(table: pd.DataFrame, columns: list[str], name: str) -> str:
    first = "1" if name == "request" else ""
    values = ["", *dict.fromkeys(str(value) for value in table[name])]
    options = "".join(
        f'<option value="{escape(value)}"{" selected" if value == first else ""}>{escape(value) or "all"}</option>'
        for value in values
    )
    return f'<label>{name}<select data-column="{columns.index(name)}">{options}</select></label>'


def html_table(table: pd.DataFrame, name: str, *, sortable: bool = False) -> str:
    """A table; intervals in small print."""
    head = "".join(f'<th scope="col">{escape(str(title))}</th>' for title in table.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_cell(str(value))}</td>" for value in row) + "</tr>"
        for row in table.itertuples(index=False)
    )
    kind = ' class="sortable"' if sortable else ""
    body = f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
    return f'<div class="scroll"><table id="{name}"{kind}>{body}</table></div>'


def _cell(text: str) -> str:
    value, bracket, rest = text.partition(" [")
    return escape(value) + (f" <small>[{escape(rest)}</small>" if bracket else "")


def _figures(folder: Path, command: str) -> str:
    parts = []
    for name in FIGURES:
        image, caption = figure_file(folder, name, "png"), figure_file(folder, name, "md")
        if not image.exists():
            parts.append(f'<p class="missing">Figure {name} has not been drawn.</p>')
            continue
        title, _, text = caption.read_text(errors="replace").strip().removeprefix("**").partition("**")
        again = f"{command} {image}"
        parts.append(
            f'<figure id="figure-{name}"><h3>{escape(title)}</h3>'
            f"{_image(image.read_bytes(), title)}"
            f"<figcaption>{escape(text.strip())} <br>Again: <code>{escape(again)}</code></figcaption></figure>"
        )
    return "".join(parts)


def _image(png: bytes, title: str) -> str:
    """An image as large as it was drawn, where there is room."""
    width = round(int.from_bytes(png[16:20]) * 96 / DPI)  # from the PNG's header; a page has 96 dots an inch
    kind = ' class="wide"' if width > 700 else ""
    data = base64.b64encode(png).decode()
    tag = f'<img alt="{escape(title)}"{kind} width="{width}" src="data:image/png;base64,{data}">'
    return f'<div class="scroll">{tag}</div>'


def _certificates(source: Results) -> str:
    parts = []
    claims = certificates.for_people(certificates.certificates(source.cells), source.plan.labels)
    if len(claims):
        parts += ["<h3>Claimed and actual</h3>", html_table(claims, "claims", sortable=True)]
    honest = frontier_for_people(frontier(source.cells, source.sweep), source.plan.unmarked, source.plan.labels)
    if len(honest):
        parts += ["<h3>What certificates that survive cost</h3>", html_table(honest, "frontier", sortable=True)]
    checks = verification(source.verification, source.plan.labels)
    if len(checks):
        parts += ["<h3>The clients' own test of deletion</h3>", html_table(checks, "checks", sortable=True)]
    return "".join(parts) or "<p>No method of this run gives a certificate.</p>"


def _settings(source: Results) -> str:
    parts = [html_table(tables.hyper_parameters(source.plan.titles, source.settings), "settings-table")]
    for name, plain in source.settings.items():
        text, title = escape(yaml.safe_dump(plain, sort_keys=False)), escape(source.plan.titles[name])
        parts.append(f"<details><summary>{title}: every setting</summary><pre>{text}</pre></details>")
    tried = {
        "methods": tables.searches(source.trials, source.plan.labels),
        "scenarios": tables.scenario_searches(source.scenario_trials),
    }
    for name, table in tried.items():
        if len(table):
            rows = html_table(table, f"tried-{name}")
            parts.append(f"<details><summary>What was tried for settings of {name}</summary>{rows}</details>")
    return "".join(parts)


def _provenance(source: Results, command: str) -> str:
    table = pd.DataFrame(source.stamps, columns=["scenario", "block", "commit", "code", "rules", "torch", "device"])
    return f"<p>Everything again: <code>{escape(command)}</code></p>" + html_table(table, "stamps")
