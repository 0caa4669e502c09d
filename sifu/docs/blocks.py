"""Generated parts of pages that people write: what stands between `<!-- docs: name -->` and `<!-- end -->`."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

from sifu.config.fields import build
from sifu.config.scenario import Scenario, request_lists
from sifu.docs import findings, performance
from sifu.docs.citation import bibtex
from sifu.docs.datasets import datasets
from sifu.errors import SifuError
from sifu.federation.stop import EVALUATION_INTERVALS
from sifu.plan.load import read_yaml
from sifu.replication.published import Published, described, quoted, read_csv, read_manifest
from sifu.report import statistics
from sifu.report.tables import markdown

_MARKS = re.compile(r"(<!-- docs: (?P<name>\w+)(?P<arguments>( [\w./]+)*) -->)(?P<text>.*?)(<!-- end -->)", re.DOTALL)
_LEFT_OUT = (
    "scenario",
    "request",
    "retain accuracy",
    "speed-up",
    "forget gap",
)  # columns that the README's table has no room for


def filled(text: str, root: Path) -> str:
    """The page with every generated part as it should be. A part that began on a new line stays on lines of its own."""

    def part(found: re.Match[str]) -> str:
        if found["name"] not in BLOCKS:
            raise SifuError(f"there is nothing to put at {found[1]}; allowed: {', '.join(BLOCKS)}")
        written = BLOCKS[found["name"]](root, *found["arguments"].split())
        space = "\n" if found["text"].startswith("\n") else ""
        return found[1] + space + written + space + "<!-- end -->"

    return _MARKS.sub(part, text)


def without(text: str) -> str:
    """What people wrote of a page."""
    return _MARKS.sub("", text)


def setting(root: Path) -> str:
    """What the README's table is of: the first scenario of the published run and its last request."""
    run = quoted(root)
    manifest = read_manifest(run.folder)
    scenario = first_scenario(run)
    partition, requests = scenario.partition, request_lists(scenario) or ((),)
    classes = ", one class each" if partition.kind == "one_class" else ""
    return (
        f"{scenario.label} with the paper's settings: {partition.num_clients} clients{classes}; "
        f"{sum(map(len, requests))} of them leave, in {len(requests)} requests; the table is of the last.\n"
        f"Recovery to {scenario.stop.accuracy:.0%} accuracy on the data of those who remain: mean over "
        f"{len(manifest['seeds'])} seeds and its {level()} bootstrap interval.\n"
        f"`{run.command}` makes it again."
    )


def first_name(run: Published) -> str:
    """The first planned scenario that was run."""
    planned = list(read_manifest(run.folder)["scenarios"])
    there = set(read_csv(run.tables / "headline.csv")["scenario"])
    return next((name for name in planned if name in there), planned[0])


def first_scenario(run: Published) -> Scenario:
    name = first_name(run)
    return build(Scenario, read_manifest(run.folder)["scenarios"][name], name)


def headline(root: Path) -> str:
    """The last request's rows of the published run's first scenario: by then methods have drifted apart."""
    run = quoted(root)
    table = read_csv(run.tables / "headline.csv")
    here = table[table["scenario"] == first_name(run)]
    rows = here[here["request"] == max(here["request"], key=int)]
    return markdown(rows.drop(columns=[name for name in _LEFT_OUT if name in rows]), "").strip()


def promise(root: Path) -> str:
    """The epsilon of the published run."""
    certificate = first_scenario(quoted(root)).certificate
    return f"epsilon = {certificate.epsilon:g}"


def figure(root: Path) -> str:
    """The README's figure."""
    path = quoted(root).figures / "requests.png"
    return f"![rounds and accuracy on the forgotten, request by request]({path.relative_to(root).as_posix()})"


def tables(root: Path) -> str:
    """Links to the tables that the README's is a part of."""
    run = quoted(root)
    names = {
        "headline": "all requests",
        "budgets": "time budgets",
        "certificates": "certificates",
        "bounds": "whether Psi is a bound",
        "search": "how C of DP-FedAvg was found",
    }
    found = [(title, run.tables / f"{name}.md") for name, title in names.items()]
    found.append(("settings and provenance", run.folder / "manifest.json"))
    return ", ".join(f"[{title}]({path.relative_to(root).as_posix()})" for title, path in found)


def plan(root: Path, config: str) -> str:
    """What a config runs."""
    found = described(root / config)
    datasets = list(dict.fromkeys(scenario["dataset"]["name"] for scenario in found["scenarios"].values()))
    methods = {variant["method"] for variant in found["variants"].values()}
    counts = {
        "scenario": len(found["scenarios"]),
        "variant": len(found["variants"]),
        "method": len(methods),
        "seed": len(found["seeds"]),
    }
    scenarios, variants, of, seeds = (f"{n} {name}{'' if n == 1 else 's'}" for name, n in counts.items())
    return f"{scenarios} of {', '.join(datasets)}; {variants} of {of}; {seeds}"


def looks(root: Path) -> str:
    """The intervals at which accuracy is looked at."""
    return ", ".join(str(rounds) for _, rounds in EVALUATION_INTERVALS) + " or 1"


def level(root: Path | None = None) -> str:
    default: float = inspect.signature(statistics.bootstrap_intervals).parameters["level"].default
    return f"{default:.0%}"


def resamples(root: Path) -> str:
    return f"{statistics._RESAMPLES:,}"


def pythons(root: Path) -> str:
    """The versions that the package allows: from the first to the one before the bound."""
    with (root / "pyproject.toml").open("rb") as file:
        wanted = tomllib.load(file)["project"]["requires-python"]
    low, high = re.findall(r"3\.(\d+)", wanted)
    return f"3.{low} to 3.{int(high) - 1}"


def cite(root: Path) -> str:
    """BibTeX of the paper and of the suite."""
    return "```bibtex\n" + bibtex(read_yaml(root / "CITATION.cff")) + "```"


BLOCKS: dict[str, Callable[..., str]] = {
    "setting": setting,
    "headline": headline,
    "datasets": datasets,
    "overview": findings.overview,
    "findings": findings.findings,
    "costs": findings.costs,
    "promise": promise,
    "figure": figure,
    "tables": tables,
    "plan": plan,
    "looks": looks,
    "level": level,
    "resamples": resamples,
    "pythons": pythons,
    "cite": cite,
    "measured": performance.measured,
    "measured_at": performance.measured_at,
    "ceilings": performance.ceilings,
    "goals": performance.goals,
    "cpu_goals": performance.cpu_goals,
    "tried": performance.tried,
}
