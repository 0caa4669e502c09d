"""The command line. Heavy modules are imported by the command that needs them."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sifu import __version__
from sifu.cli.replication import add_replication
from sifu.cli.stages import add_stages, at_least_one
from sifu.config.fields import build
from sifu.config.run import PRECISIONS, Run
from sifu.errors import ConfigError, SifuError
from sifu.plan.load import default_data_root, load_suite, read_yaml

if TYPE_CHECKING:
    from sifu.plan.report_plan import ReportPlan

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def main(arguments: list[str] | None = None) -> int:
    """Run a sub-command; bad input ends with one sentence on stderr and the exit code 2."""
    parsed = _parser().parse_args(arguments)
    try:
        return int(parsed.command(parsed) or 0)  # a command that only says something returns nothing
    except BrokenPipeError:  # the reader has seen enough
        return 0
    except (SifuError, OSError) as error:  # OSError: a folder that is a file, a full disk
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sifu", description="A benchmark suite for federated unlearning.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    add_stages(commands)
    _add_report(commands)
    _add_cell(commands)
    _add_null_space(commands)
    _add_methods(commands)
    _add_certify(commands)
    _add_audit(commands)
    _add_bench(commands)
    _add_docs(commands)
    add_replication(commands)
    return parser


def _add_report(commands: Commands) -> None:
    for name, text, command in (
        ("report", "Write the tables that people read, of everything that a config plans.", _report),
        ("figure", "Draw figures of everything that a config plans.", _figure),
        ("page", "Write the report, one HTML file, from the tables and figures that are there.", _page),
        ("summary", "Print what has been trained and unlearned, and what it cost.", _summary),
    ):
        parser = commands.add_parser(name, help=text, description=text)
        parser.add_argument("--config", type=Path, default=Path("config/config.yaml"), help="default: %(default)s")
        parser.set_defaults(command=command)
        if name == "page":
            parser.add_argument("--command", dest="again", default="make", help="what makes the run again, to be shown")
        if name == "figure":
            parser.add_argument("names", nargs="*", help="which figures (default: all)")
        if name != "summary":
            parser.add_argument("--plan", help="what to report, as JSON, instead of a config (used by the workflow)")


def _add_cell(commands: Commands) -> None:
    text = "Print every number of one cell, to the last digit, and where it comes from."
    parser = commands.add_parser("cell", help=text, description=text)
    parser.add_argument("--scenario", required=True, help="name in scenarios.yaml")
    parser.add_argument("--variant", required=True, help="name in variants.yaml")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--request", type=int, default=1, help="number of the request (default: %(default)s)")
    parser.add_argument("--stop", default="target", help="when recovery ended: target, or such as budget_25")
    parser.add_argument("--results", default="results", help="folder of all results (default: %(default)s)")
    parser.add_argument("--against", type=Path, help="say instead what differs from the same cell in this folder")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    parser.set_defaults(command=_cell)


def _add_methods(commands: Commands) -> None:
    text = "List every method with what it assumes, stores and promises."
    parser = commands.add_parser("methods", help=text, description=text)
    parser.add_argument("--json", action="store_true", help="print a list of rows instead of a table")
    parser.set_defaults(command=_methods)


def _add_null_space(commands: Commands) -> None:
    text = "The paper's appendix A: fine-tuning an under-determined linear regression never forgets."
    parser = commands.add_parser("null-space", help=text, description=text)
    parser.add_argument("--results", default="results", help="folder of all results (default: %(default)s)")
    parser.set_defaults(command=_null_space)


def _add_certify(commands: Commands) -> None:
    text = "What noise of sigma hides for an (epsilon, delta), by each rule, and the delta that really holds."
    parser = commands.add_parser("certify", help=text, description=text)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float, required=True)
    parser.add_argument("--sigma", type=float, required=True, help="standard deviation of the noise on each weight")
    parser.add_argument("--num-clients", type=int, default=100, help="the released code's delta is 1 over it")
    parser.add_argument("--beta", type=float, help="smoothness of the loss: print B for it, too")
    parser.add_argument("--mu", type=float, default=0.0, help="strong convexity of the loss (default: 0)")
    parser.add_argument("--client-lr", type=float, default=0.01, help="step size of the clients (default: %(default)s)")
    parser.set_defaults(command=_certify)


def _add_audit(commands: Commands) -> None:
    text = "Attack a certificate with many noise draws: the epsilon that the draws themselves prove."
    parser = commands.add_parser("audit", help=text, description=text)
    parser.add_argument("--epsilon", type=float, default=1.0, help="default: %(default)s")
    parser.add_argument("--delta", type=float, default=0.01, help="default: %(default)s")
    parser.add_argument("--noise", type=float, default=1.0, help="share of the noise that is really added (default: 1)")
    parser.add_argument("--draws", type=int, default=100_000, help="default: %(default)s")
    parser.set_defaults(command=_audit)


def _add_bench(commands: Commands) -> None:
    parser = commands.add_parser("bench", help="Time the engine against the plain loop.")
    parser.add_argument("--json", action="store_true", help="print a list of rows instead of a table")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads of both (default: %(default)s)")
    parser.add_argument("--precision", choices=PRECISIONS, default="tf32", help="of a GPU (default: %(default)s)")
    parser.add_argument("--scenarios", nargs="*", default=["mnist", "cifar10"], help="default: mnist cifar10")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 5], help="block sizes (default: 1 5)")
    parser.add_argument("--rounds", type=int, help="rounds a measurement (default: about half a second of them)")
    parser.add_argument("--train", nargs="*", default=[], help="scenarios to train to their target, on real data")
    parser.add_argument("--parity", action="store_true", help="compare weights with double precision on the CPU, too")
    parser.add_argument("--data-root", type=Path, help="folder of the datasets; default: SIFU_DATA_ROOT, else data")
    parser.set_defaults(command=_bench)


def _add_docs(commands: Commands) -> None:
    text = "Write the generated pages, and the generated parts of the others."
    parser = commands.add_parser("docs", help=text, description=text)
    parser.add_argument("--root", type=Path, default=Path(), help="the checkout (default: this folder)")
    parser.set_defaults(command=_docs)


def _plan(parsed: argparse.Namespace) -> ReportPlan:
    """What a report is about: from the workflow as JSON, or from a config."""
    from sifu.plan.report_plan import ReportPlan

    if parsed.plan is None:
        return ReportPlan.read(load_suite(read_yaml(parsed.config), parsed.config.parent, reports=True).report_plan())
    try:
        return ReportPlan.read(json.loads(parsed.plan))
    except json.JSONDecodeError:
        raise ConfigError("--plan", parsed.plan, "JSON") from None


def _report(parsed: argparse.Namespace) -> None:
    from sifu.stages.report import run_report

    plan = _plan(parsed)
    run_report(plan, Path(plan.results) / "report")
    print(f"report: {Path(plan.results) / 'report' / 'tables'}")


def _figure(parsed: argparse.Namespace) -> None:
    from sifu.catalog.figures import FIGURES
    from sifu.stages.figure import run_figure

    plan = _plan(parsed)
    for name in parsed.names or FIGURES:
        if name not in FIGURES:
            raise ConfigError("figure", name, " | ".join(FIGURES))
        run_figure(plan, name, Path(plan.results) / "report")
        print(f"figure: {Path(plan.results) / 'report' / 'figures' / name}.png")


def _page(parsed: argparse.Namespace) -> None:
    from sifu.stages.page import run_page

    plan = _plan(parsed)
    run_page(plan, Path(plan.results) / "report", parsed.again)
    print(f"report: {Path(plan.results) / 'report' / 'report.html'}")


def _summary(parsed: argparse.Namespace) -> None:
    from sifu.report.summary import print_summary

    print_summary(build(Run, read_yaml(parsed.config), ""))


def _cell(parsed: argparse.Namespace) -> None:
    from sifu.store.cell import Wanted, compare_cells, print_cell

    wanted = Wanted(parsed.scenario, parsed.variant, parsed.stop, parsed.seed, parsed.request)
    if parsed.against is None:
        print_cell(wanted, Path(parsed.results), as_json=parsed.json)
    else:
        compare_cells(wanted, Path(parsed.results), parsed.against)


def _null_space(parsed: argparse.Namespace) -> None:
    from sifu.stages.null_space import run_null_space

    folder = Path(parsed.results) / "null_space"
    run_null_space(folder)
    print(f"wrote {folder / 'null_space.parquet'}")


def _methods(parsed: argparse.Namespace) -> None:
    from sifu.report.methods import print_methods

    print_methods(as_json=parsed.json)


def _certify(parsed: argparse.Namespace) -> None:
    from sifu.certificate.table import print_certificates, print_contraction

    at_least_one("--num-clients", parsed.num_clients - 1)
    print_certificates(parsed.epsilon, parsed.delta, parsed.sigma, parsed.num_clients)
    if parsed.beta is not None:
        print_contraction(parsed.beta, parsed.mu, parsed.client_lr)


def _audit(parsed: argparse.Namespace) -> None:
    from sifu.certificate.audit import print_audit

    print_audit(parsed.epsilon, parsed.delta, parsed.noise, parsed.draws)


def _bench(parsed: argparse.Namespace) -> None:
    from sifu.bench.report import Bench, print_bench

    at_least_one("--seeds", *parsed.seeds)
    at_least_one("--threads", parsed.threads)
    at_least_one("--rounds", 1 if parsed.rounds is None else parsed.rounds)
    bench = Bench(
        parsed.scenarios,
        parsed.seeds,
        parsed.device,
        parsed.precision,
        parsed.threads,
        parsed.rounds,
        parsed.train,
        parsed.parity,
        parsed.data_root or default_data_root(None),
    )
    print_bench(bench, as_json=parsed.json)


def _docs(parsed: argparse.Namespace) -> None:
    from sifu.docs.pages import write_docs

    write_docs(parsed.root)


if __name__ == "__main__":
    sys.exit(main())
