"""The commands that show results: one cell, every method, tables, figures, the HTML report."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sifu.cli.commands import EVERYDAY, REPORTS, Command, Commands
from sifu.cli.key_values import key_values
from sifu.config.fields import build
from sifu.config.run import Run
from sifu.config.shipped import config_file
from sifu.errors import ConfigError, did_you_mean
from sifu.plan.load import load_suite, read_yaml
from sifu.store import paths

if TYPE_CHECKING:
    from sifu.plan.report_plan import ReportPlan


def add_report(commands: Commands) -> None:
    _add_cell(commands)
    _add_methods(commands)
    text = "Print what has been trained and unlearned, and what it cost."
    summary = _with_config(commands, EVERYDAY, "summary", text, _summary)
    summary.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="other values, as the run had them")
    text = "Write the tables that people read, of everything that a config plans."
    _with_plan(_with_config(commands, REPORTS, "report", text, _report))
    figure = _with_config(commands, REPORTS, "figure", "Draw figures of everything that a config plans.", _figure)
    figure.add_argument("names", nargs="*", help="which figures (default: all)")
    _with_plan(figure)
    text = "Write the report, one HTML file, from the existing tables and figures."
    page = _with_config(commands, REPORTS, "page", text, _page)
    page.add_argument(
        "--command", dest="again", default="make", help="the command that makes the run again, to be shown"
    )
    _with_plan(page)


def _with_config(commands: Commands, group: str, name: str, text: str, command: Command) -> argparse.ArgumentParser:
    parser = commands.add(group, name, text, command)
    parser.add_argument("--config", type=Path, default=config_file("config.yaml"), help="default: %(default)s")
    return parser


def _with_plan(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--plan", type=Path, help="a JSON file with what to report, instead of a config (used by the workflow)"
    )


def _add_cell(commands: Commands) -> None:
    text = "Print every number of one cell, to the last digit, and where it comes from."
    parser = commands.add(EVERYDAY, "cell", text, _cell)
    parser.add_argument("--scenario", required=True, help="name in scenarios.yaml")
    parser.add_argument("--variant", required=True, help="name in variants.yaml")
    parser.add_argument("--seed", type=int, required=True, help="number of the seed")
    parser.add_argument("--request", type=int, default=1, help="number of the request (default: %(default)s)")
    parser.add_argument("--stop", default="target", help="when recovery ended: target, or such as budget_25")
    parser.add_argument("--results", default="results", help="folder of all results (default: %(default)s)")
    parser.add_argument("--against", type=Path, help="say instead what differs from the same cell in this folder")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")


def _add_methods(commands: Commands) -> None:
    text = "List every method with what it assumes, stores and promises."
    parser = commands.add(EVERYDAY, "methods", text, _methods)
    parser.add_argument("--json", action="store_true", help="print a list of rows instead of a table")


def _plan(parsed: argparse.Namespace) -> ReportPlan:
    """What a report is about: from a file of the workflow, or from a config."""
    from sifu.plan.report_plan import ReportPlan

    if parsed.plan is None:
        raw = read_yaml(parsed.config)
        _unpack(raw)
        return load_suite(raw, parsed.config.parent, reports=True).report_plan()
    try:
        return ReportPlan.read(json.loads(parsed.plan.read_text()))
    except (ValueError, RecursionError):
        raise ConfigError("--plan", str(parsed.plan), "a file that holds JSON") from None


def _unpack(raw: dict[str, Any]) -> None:
    """A report is of the scenarios that have tables: those of a published run are packed in a clone."""
    from sifu.report.packed import unpack

    results = raw.get("results")
    if isinstance(results, str) and "\0" not in results:  # anything else is refused when the plan is made
        unpack(Path(results))


def _report(parsed: argparse.Namespace) -> None:
    from sifu.stages.report import run_report

    plan = _plan(parsed)
    run_report(plan, paths.report_folder(plan.results))
    print(f"report: {paths.tables_folder(paths.report_folder(plan.results))}")


def _figure(parsed: argparse.Namespace) -> None:
    from sifu.catalog.figures import FIGURES
    from sifu.catalog.unlisted import missing_line
    from sifu.stages.figure import run_figure

    plan = _plan(parsed)
    for name in parsed.names or plan.figures:
        if name not in FIGURES:
            close = missing_line("figures", name) or did_you_mean(name, FIGURES)
            raise ConfigError("figure", name, " | ".join(FIGURES), close)
        run_figure(plan, name, paths.report_folder(plan.results))
        print(f"figure: {paths.figure_file(paths.report_folder(plan.results), name, 'png')}")


def _page(parsed: argparse.Namespace) -> None:
    from sifu.replication.claims.commands import rerun_cell
    from sifu.replication.published import COMMAND, REPLICATION
    from sifu.replication.strip import claim_rows
    from sifu.report.results import Results
    from sifu.stages.page import run_page

    plan = _plan(parsed)
    published = Path(plan.results) == REPLICATION  # whose cells have a command of their own
    planned = None if published else set(Results(plan).all_planned())  # a user's folder may hold blocks of older runs
    claims = claim_rows(Path(plan.results), plan.titles, planned)
    command, again = (COMMAND, rerun_cell) if published else (parsed.again, None)
    run_page(plan, paths.report_folder(plan.results), command, claims, again, _redraw(parsed, published=published))
    print(f"report: {paths.report_page(paths.report_folder(plan.results))}")


def _redraw(parsed: argparse.Namespace, *, published: bool) -> Callable[[str], str] | None:
    """What draws a figure again, by the config alone; None in the workflow, whose own command does."""
    from sifu.replication.claims.commands import redraw_figure

    if published:
        return redraw_figure
    return None if parsed.plan else partial(redraw_figure, config=str(parsed.config))


def _summary(parsed: argparse.Namespace) -> None:
    from sifu.report.summary import print_summary

    print_summary(build(Run, read_yaml(parsed.config) | key_values(parsed.set), ""))


def _cell(parsed: argparse.Namespace) -> None:
    from sifu.report.packed import unpack
    from sifu.store.cell import CellKey, compare_cells, print_cell

    for folder in (Path(parsed.results), parsed.against):
        if folder is not None:
            unpack(folder)
    wanted = CellKey(parsed.scenario, parsed.variant, parsed.stop, parsed.seed, parsed.request)
    if parsed.against is None:
        print_cell(wanted, Path(parsed.results), as_json=parsed.json)
    else:
        compare_cells(wanted, Path(parsed.results), parsed.against)


def _methods(parsed: argparse.Namespace) -> None:
    from sifu.report.methods import print_methods

    print_methods(as_json=parsed.json)
