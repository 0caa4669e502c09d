"""Generated parts of pages that people write: what stands between `<!-- docs: name -->` and `<!-- end -->`."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

from sifu.config.fields import build
from sifu.config.scenario import Scenario, request_lists
from sifu.docs import findings, forgetting, performance, picture
from sifu.docs.by_counting import proved_by_counting
from sifu.docs.by_twins import forgotten_by_twins, forgotten_in_short, not_tested_by_twins
from sifu.docs.citation import bibtex
from sifu.docs.costs import costs, signs
from sifu.docs.honest_saving import honest_saving, honest_savings
from sifu.docs.inverted_images import inverted_images
from sifu.docs.methods_by_dataset import methods_by_dataset
from sifu.docs.setting_sweeps import epochs_of_distillation
from sifu.docs.single_clients import single_clients
from sifu.errors import SifuError
from sifu.federation.stop import EVALUATION_INTERVALS
from sifu.forgetting import verdict
from sifu.plan.load import read_yaml
from sifu.replication.published import COMMAND, NOT_RUN, Published, described, quoted, read_csv, read_manifest
from sifu.report import deletion_test, statistics
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

    def part(mark: re.Match[str]) -> str:
        if mark["name"] not in PARTS:
            raise SifuError(f"there is nothing to put at {mark[1]}; allowed: {', '.join(PARTS)}")
        written = PARTS[mark["name"]](root, *mark["arguments"].split())
        space = "\n" if mark["text"].startswith("\n") else ""
        return mark[1] + space + written + space + "<!-- end -->"

    return _MARKS.sub(part, text)


def without(text: str) -> str:
    """A page without its generated parts."""
    return _MARKS.sub("", text)


def of_replication(part: Callable[[Path, Published], str]) -> Callable[[Path], str]:
    """A part that quotes the replication; without one it is a sentence that says so."""

    def write(root: Path) -> str:
        run = quoted(root)
        return NOT_RUN if run is None else part(root, run)

    return write


def setting(root: Path, run: Published) -> str:
    """What the README's table shows: the first scenario of the replication and its last request."""
    manifest = read_manifest(run.folder)
    scenario = first_scenario(run)
    partition, requests = scenario.partition, request_lists(scenario) or ((),)
    classes = ", one class each" if partition.kind == "one_class" else ""
    return (
        f"{scenario.label} with the paper's settings: {partition.num_clients} clients{classes}; "
        f"{sum(map(len, requests))} of them are forgotten, in {len(requests)} requests. The table shows the last.\n"
        f"Recovery to {scenario.stop.accuracy:.0%} accuracy on the remaining clients: mean over "
        f"{len(manifest['seeds'])} seeds and its {level()} bootstrap interval.\n"
        f"`{COMMAND}` makes it again."
    )


def first_name(run: Published) -> str:
    """The first planned scenario that was run."""
    planned = list(read_manifest(run.folder)["scenarios"])
    ran = set(read_csv(run.tables / "headline.csv")["scenario"])
    return next((name for name in planned if name in ran), planned[0])


def first_scenario(run: Published) -> Scenario:
    """The settings of the first planned scenario that was run."""
    name = first_name(run)
    return build(Scenario, read_manifest(run.folder)["scenarios"][name], name)


def headline(root: Path, run: Published) -> str:
    """The last request's rows of the replication's first scenario: there methods differ most."""
    table = read_csv(run.tables / "headline.csv")
    rows = table[table["scenario"] == first_name(run)]
    rows = rows[rows["request"] == max(rows["request"], key=int)]
    return markdown(rows.drop(columns=[name for name in _LEFT_OUT if name in rows]), "").strip()


def promise(root: Path, run: Published) -> str:
    """The epsilon of the replication."""
    return f"epsilon = {first_scenario(run).certificate.epsilon:g}"


def figure(root: Path, run: Published) -> str:
    """The README's figure."""
    path = run.figures / "requests.png"
    return f"![rounds and accuracy on forgotten clients, request by request]({path.relative_to(root).as_posix()})"


def tables(root: Path, run: Published) -> str:
    """Links to the report's tables, from which the README's is taken."""
    names = {
        "headline": "all requests",
        "budgets": "time budgets",
        "certificates": "certificates",
        "bounds": "whether Psi is a bound",
        "search": "how C of DP-FedAvg was found",
    }
    links = [(title, run.tables / f"{name}.md") for name, title in names.items()]
    links.append(("settings and provenance", run.folder / "manifest.json"))
    return ", ".join(f"[{title}]({path.relative_to(root).as_posix()})" for title, path in links)


def plan(root: Path, config: str) -> str:
    """How many scenarios, variants, methods and seeds a config runs."""
    planned = described(root / config)
    datasets = list(dict.fromkeys(scenario["dataset"]["name"] for scenario in planned["scenarios"].values()))
    counts = {
        "scenario": len(planned["scenarios"]),
        "variant": len(planned["variants"]),
        "method": len({variant["method"] for variant in planned["variants"].values()}),
        "seed": len(planned["seeds"]),
    }
    scenarios, variants, methods, seeds = (f"{n} {name}{'' if n == 1 else 's'}" for name, n in counts.items())
    return f"{scenarios} of {', '.join(datasets)}; {variants} of {methods}; {seeds}"


def evaluations(root: Path) -> str:
    """The numbers of rounds from one evaluation to the next."""
    return ", ".join(str(rounds) for _, rounds in EVALUATION_INTERVALS["close"]) + " or 1"


def level(root: Path | None = None) -> str:
    """The level of bootstrap intervals."""
    default: float = inspect.signature(statistics.bootstrap_intervals).parameters["level"].default
    return f"{default:.0%}"


def resamples(root: Path) -> str:
    """The number of bootstrap resamples."""
    return f"{statistics._RESAMPLES:,}"


def student(root: Path) -> str:
    """Up to how many seeds Student's interval stands next to the bootstrap's."""
    return str(statistics.WITH_STUDENT)


def enough_power(root: Path) -> str:
    """From which power on silence of the deletion test means something."""
    return f"{deletion_test.ENOUGH_POWER:.0%}"


def certain_share(root: Path) -> str:
    """Between what the whole interval of the share forgotten must lie for a certain yes."""
    return f"{verdict.CERTAIN:g} and {2 - verdict.CERTAIN:g}"


def pythons(root: Path) -> str:
    """The first and the last version of Python that the package allows."""
    with (root / "pyproject.toml").open("rb") as file:
        wanted = tomllib.load(file)["project"]["requires-python"]
    low, high = re.findall(r"3\.(\d+)", wanted)
    return f"3.{low} to 3.{int(high) - 1}"


def cite(root: Path) -> str:
    """BibTeX of the paper and of the suite."""
    return "```bibtex\n" + bibtex(read_yaml(root / "CITATION.cff")) + "```"


PARTS: dict[str, Callable[..., str]] = {
    "setting": of_replication(setting),
    "headline": of_replication(headline),
    "datasets": methods_by_dataset,
    "overview": of_replication(picture.overview),
    "data": of_replication(findings.data),
    "findings": of_replication(findings.findings_in_short),
    "findings_in_full": of_replication(findings.findings_in_full),
    "costs": of_replication(costs),
    "signs": of_replication(signs),
    "honest_saving": of_replication(honest_saving),
    "honest_savings": of_replication(honest_savings),
    "promise": of_replication(promise),
    "figure": of_replication(figure),
    "tables": of_replication(tables),
    "plan": plan,
    "evaluations": evaluations,
    "level": level,
    "resamples": resamples,
    "student": student,
    "enough_power": enough_power,
    "certain_share": certain_share,
    "pythons": pythons,
    "cite": cite,
    "measured": performance.measured,
    "measured_at": performance.measured_at,
    "ceilings": performance.ceilings,
    "goals": performance.goals,
    "cpu_goals": performance.cpu_goals,
    "tried": performance.tried,
    "models_needed": forgetting.models_needed,
    "models_see": forgetting.models_see,
    "few_models": forgetting.few_models,
    "few_seeds": forgetting.few_seeds,
    "low_rates": forgetting.low_rates,
    "power_has": of_replication(forgetting.power_has),
    "kept_tables": of_replication(forgetting.kept_tables),
    "kept_margins": forgetting.kept_margins,
    "allowed_auc": forgetting.allowed_auc,
    "forgotten_in_short": of_replication(forgotten_in_short),
    "forgotten_by_twins": of_replication(forgotten_by_twins),
    "not_tested_by_twins": of_replication(not_tested_by_twins),
    "proved_by_counting": of_replication(proved_by_counting),
    "inverted_images": of_replication(inverted_images),
    "epochs_of_distillation": of_replication(epochs_of_distillation),
    "single_clients": of_replication(single_clients),
}
