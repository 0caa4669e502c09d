"""The report: one HTML file that opens offline, made of the tables and figures of a plan."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from string import Template

import pandas as pd
import yaml

from sifu.plan.report_plan import ReportPlan
from sifu.report import page_tables, tables
from sifu.report.carried import Carried
from sifu.report.data_used import parts_in_words
from sifu.report.figures.overview import drawn_scenarios
from sifu.report.findings import findings
from sifu.report.html import folded, html_table, image, two_images
from sifu.report.key_findings import key_findings
from sifu.report.leaderboard import RowCommand, leaderboard, row_command, with_targets
from sifu.report.looked_good import looked_good
from sifu.report.marked import marked
from sifu.report.missing import missing_names, missing_words, to_run
from sifu.report.old_clipping import old_clipping
from sifu.report.page_tables import titled
from sifu.report.results import Results
from sifu.report.standings import Standing, main_scenarios, standings
from sifu.report.verdict_strip import ClaimRow, verdict_strip
from sifu.store.json_file import read_json
from sifu.store.paths import PICTURE, figure_file, manifest_file, narrow_picture

FigureCommand = Callable[[str], str]  # of a figure's name: what draws it again
_TEMPLATE = Path(__file__).with_name("page.html")
_MAX_NAMES = 8  # of scenarios, at the top of the page
_DEVIATIONS, _TABLE = "docs/replication/deviations.md", "deviations-from-the-paper"  # in a checkout


def build_page(
    source: Results,
    folder: Path,
    command: str,
    claims: Sequence[ClaimRow] = (),
    again: RowCommand | None = None,
    draw: FigureCommand | None = None,
) -> str:
    """The page; `folder` holds the figures, `command` is what makes this run again.

    `claims`: rows of the verdict strip; `again` and `draw`: what runs a row of the leaderboard and draws a figure
    again, where there is a better command than Snakemake's.
    """
    draw = draw or figure_command(folder, command)
    rows = standings(source)
    told = Carried(source, rows)
    parts = {
        "In one look": _picture(source, folder, draw, rows),
        "Leaderboard": leaderboard(source.plan, rows, again or row_command(source.plan, command)),
        **({"Verdicts": verdict_strip(list(claims), folder)} if claims else {}),
        "Figures": _figures(source.plan, folder, draw),
        "Certificates": _certificates(source, folder, told),
        "Forgetting": _forgetting(source, folder, rows),
        "Searches": page_tables.tried(source),
        "Details": _details(source, folder, command, told),
    }
    parts = {name: body for name, body in parts.items() if body}
    navigation = "".join(f'<a href="#{_anchor(name)}">{name}</a>' for name in parts)
    sections = [f'<section id="{_anchor(name)}"><h2>{name}</h2>{body}</section>' for name, body in parts.items()]
    return Template(_TEMPLATE.read_text()).substitute(
        title="Federated unlearning: report",
        lead=escape(_lead(source)),
        navigation=navigation,
        sections="\n".join(sections),
        footer=escape("Made by the SIFU benchmark suite for federated unlearning."),
    )


def _lead(source: Results) -> str:
    """One short line, as the picture comes first: `34 scenarios, 5 to 10 seeds.`"""
    count = len(source.plan.titles)
    return f"{count} {'scenario' if count == 1 else 'scenarios'}, {_seeds(source)}"


def _about(source: Results, folder: Path) -> str:
    """What was run, on which part of the data, and what differs from the paper; folded, below the picture."""
    words = f"{_scenarios(source.plan)}. {_seeds(source)} Every number here is generated from the tables of this run."
    return folded("What was run, and what differs from the paper", f"<p>{escape(words)}{_data(source, folder)}</p>")


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
    old = f" {escape(_not_clipped(source))}".rstrip()
    return f" {escape(parts)}{old} What else differs from the SIFU paper: {name}."


def _not_clipped(source: Results) -> str:
    """Which main scenarios have rows without the clipping of today's config; a user's own run has no manifest."""
    path, plan = manifest_file(source.root), source.plan
    manifest = read_json(path) if path.exists() else None
    main = {name: plan.settings[name] for name in main_scenarios(plan) if name in plan.settings}
    return old_clipping(main, manifest, lambda names: "; ".join(plan.titles[name] for name in names))


def _picture(source: Results, folder: Path, draw: FigureCommand, rows: list[Standing]) -> str:
    """The picture, what it is of, four findings, and what is still to run."""
    shown = drawn_scenarios(source.plan, rows)
    found = key_findings(source.plan, [row for row in rows if row.scenario in shown])
    items = "".join(f"<li><b>{escape(head)}</b> {escape(text)}</li>" for head, text in found)
    items = items or "<li>Nothing has been unlearned yet.</li>"
    picture = _figure(folder, draw, PICTURE) + _about(source, folder)
    return f'{picture}<ol class="findings">{items}</ol>{_still_to_run(source)}'


def _still_to_run(source: Results) -> str:
    """A line that says that something is, and opens to what it is; nothing of a finished run."""
    missing, left_out = source.all_missing(), source.plan.left_out
    if not missing and not left_out:
        return ""
    details = ""
    if left_out:
        details += f"<p>Planned and not run, as their datasets are missing: {escape(', '.join(left_out))}.</p>"
    if missing:
        names = missing_names(missing, source.root)
        named = "".join(f"<li><code>{escape(path)}</code></li>" for path in names)
        details += f"<p>{missing_words(missing)}:</p><ul>{named}</ul>"
    return folded(to_run(missing, left_out), details, "to-run")


def _forgetting(source: Results, folder: Path, rows: list[Standing]) -> str:
    """What many models say of forgetting, and what accuracy misses; nothing where it was not measured."""
    parts = page_tables.forgetting(source, folder)
    told = looked_good(source.plan, rows, named=True) if parts else None
    others = (page_tables.distances, page_tables.inverted, page_tables.atlas)
    more = "".join(part(source, folder) for part in others)
    return (f"<p>{escape(told)}</p>" if told else "") + parts + more


def _certificates(source: Results, folder: Path, told: Carried) -> str:
    """What is left of promises, what surviving ones cost, what clients find out, what counting proves."""
    claimed, audited = page_tables.claimed_and_actual(source, folder), page_tables.audits(source, folder)
    parts = [claimed, page_tables.honest(source, told), page_tables.checks(source), audited]
    return "".join(parts) or "<p>No method of this run gives a certificate.</p>"


def figure_command(folder: Path, command: str) -> FigureCommand:
    """What draws a figure again by a command that makes files."""
    return lambda name: with_targets(command, [str(figure_file(folder, name, "png"))])


def _figures(plan: ReportPlan, folder: Path, draw: FigureCommand) -> str:
    names = [name for name in plan.figures if name != PICTURE]
    return folded(f"{len(names)} figures", "".join(_figure(folder, draw, name) for name in names))


def _figure(folder: Path, draw: FigureCommand, name: str) -> str:
    """A figure with its caption, folded, and the command that draws it again; of the first one both widths."""
    path, caption = figure_file(folder, name, "png"), figure_file(folder, name, "md")
    if not path.exists():
        return f'<p class="missing">Figure {name} has not been drawn.</p>'
    title, _, text = caption.read_text(errors="replace").strip().removeprefix("**").partition("**")
    words = f"{marked(text.strip(), folder)} <br>Again: <code>{escape(draw(name))}</code>"
    head = "" if name == PICTURE else f"<h3>{escape(title)}</h3>"
    drawn, narrow = path.read_bytes(), narrow_picture(folder)
    with_narrow = name == PICTURE and narrow.exists()
    shown = two_images(drawn, narrow.read_bytes(), title) if with_narrow else image(drawn, title)
    return (
        f'<figure id="figure-{name}">{head}{shown}'
        f"<figcaption><details><summary>How to read it</summary>{words}</details></figcaption></figure>"
    )


def _details(source: Results, folder: Path, command: str, told: Carried) -> str:
    """Every request, findings scenario by scenario, what FATS costs, what methods assume, settings, and where the
    numbers come from.
    """
    items = "".join(f"<li>{escape(text)}</li>" for text in findings(source))
    return "".join(
        [
            page_tables.requests(source, told),
            folded("Findings, scenario by scenario", f"<ul>{items}</ul>"),
            page_tables.fats(source, folder),
            page_tables.assumptions(source, folder),
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
    return f"<p>Everything again: <code>{escape(command)}</code></p>" + html_table(titled(source, table), "stamps")
