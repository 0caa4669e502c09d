"""docs/replication: what was not run, not measured or not reached is named as what it is."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sifu.docs.replication_pages import replication_pages
from sifu.replication.claims.catalog import CLAIMS
from sifu.replication.published import CONFIG, NOT_RUN, described
from sifu.store.experiment_schemas import SCENARIO_SEARCH
from sifu.store.parquet import write_table
from sifu.store.provenance import provenance
from tests.conftest import REPO
from tests.outcomes import Outcome
from tests.small_replication import PLAIN, World, write_manifest


@pytest.mark.second
def test_a_dataset_without_scratch_is_neither_run_nor_missing(tmp_path: Path) -> None:
    folder = World(("mnist", "celeba"), marks=PLAIN).write(tmp_path)
    write_manifest(folder)
    kept = ("original", "fine_tuning", "fed_accum_released")
    for path in (folder / "unlearn" / "celeba").iterdir():
        if path.name not in kept:
            shutil.rmtree(path)
    pages = replication_pages(tmp_path)
    words = "CelebA (training and 2 methods, 3 seeds, without scratch: Fine-tuning; FedAccum, as released)"
    assert f"Not run: FashionMNIST, CIFAR-10, CIFAR-100. Run in part: {words}." in pages["index.md"]
    assert f"CIFAR-100 (not run), {words}; sigma sweep" in pages["deviations.md"]
    assert "SIFU, as released on CelebA;" in pages["run.md"]
    assert "Scratch on CelebA;" in pages["run.md"]


@pytest.mark.second
def test_what_was_run_and_not_measured_is_not_called_not_run(tmp_path: Path) -> None:
    """CIFAR-10 has answers and no accuracies; fine-tuning missed its target, SIFU as described was not run."""
    changed = {("cifar10", "fine_tuning"): Outcome(50, status="not_reached")}
    folder = World(("cifar10",), changed, marks=PLAIN).write(tmp_path)
    write_manifest(folder)
    shutil.rmtree(folder / "verify")
    shutil.rmtree(folder / "unlearn" / "cifar10" / "sifu")
    table = replication_pages(tmp_path)["claims.md"].split("## Two partitions of CIFAR-10")[1]
    known = "accuracy of {} on forgotten clients, minus scratch's"
    assert f"| {known.format('SIFU, as released,')} | not measured | not run |" in table
    assert f"| {known.format('SIFU')} | not run | not run |" in table
    assert "| rounds saved by Fine-tuning | target missed | not run |" in table


@pytest.mark.long
def test_the_page_says_which_side_experiments_are_missing(tmp_path: Path) -> None:
    """MNIST alone has a sweep and other sets, and alpha under one change of four; CIFAR-100 has a search."""
    folder = World(("mnist",), marks=PLAIN).write(tmp_path)
    write_manifest(folder)
    row = {"scenario": "cifar100", "setting": "federation.clip", "seed": 50, "variant": "sifu", "status": "done"}
    row |= {"trained": "done", "training_rounds": 4, "rounds": 5, "client_steps": 9, "accuracy": 0.9}
    values = [
        {"place": place, "value": value, "used": not place, "chosen": bool(place)}
        for place, value in enumerate(("20", "5"))
    ]
    path = folder / "scenario_search" / "cifar100" / "clip" / "s050-050" / "scenario_search.parquet"
    write_table(
        path, SCENARIO_SEARCH, pd.DataFrame([row | value for value in values]), provenance("test", {}, "0", "cpu")
    )
    pages = replication_pages(tmp_path)
    page, searches = pages["run.md"], " ".join(pages["searches.md"].split())
    assert "| sigma sweep of SIFU, as released | MNIST | FashionMNIST, CIFAR-10, CIFAR-100, CelebA | 3 |" in page
    assert "| sigma sweep of SIFU, strict |  | MNIST, FashionMNIST, CIFAR-10, CIFAR-100, CelebA | 0 |" in page
    assert "| other sets of requests | MNIST | FashionMNIST, CIFAR-10, CIFAR-100, CelebA | 3 |" in page
    assert "| alpha and Psi with K = 1 | MNIST | FashionMNIST, CIFAR-10, CIFAR-100, CelebA | 3 |" in page
    assert "| alpha and Psi with eta = 0.1 |  | MNIST, FashionMNIST, CIFAR-10, CIFAR-100, CelebA | 0 |" in page
    assert "| search of federation.clip | CIFAR-100 | FashionMNIST, CIFAR-10, CelebA | 1 |" in page
    assert "Budget of each value: 10 values, 2 seeds, twice the rounds of the longest training;" in searches
    for search in described(REPO / CONFIG)["side_experiments"]["scenario_searches"]:
        values = len(search["grid"]["federation.clip"])
        assert f"{values} values, {search['num_seeds']} seeds, {search['rounds']} rounds" in searches
    assert "| audits of certificates by counting models |  | MNIST; MNIST, single clients | - |" in page
    planned = described(REPO / CONFIG)
    tested = planned["side_experiments"]["oracles"]["scenarios"]
    twins = "; ".join(planned["scenarios"][name]["label"] for name in tested)
    assert f"| many models with the forgotten clients and with twins (twin test) |  | {twins} | - |" in page
    clips = next(line for line in pages["deviations.md"].splitlines() if "| Clipping |" in line)
    assert clips.endswith("| [searches.md](searches.md) has other values on CIFAR-100. |")
    assert "| CIFAR-100 | federation.clip | 20 |" in pages["searches.md"]
    then = "10000 is used and was not tried (20 was used when the search was made), the search would have chosen 5"
    assert f"They differ in 1 of 1: CIFAR-100: federation.clip {then}." in searches
    assert "FedEraser, a length a layer, dt and r searched on MNIST; DP-FedAvg, accounted on MNIST." in page


def test_without_a_manifest_nothing_was_run(tmp_path: Path) -> None:
    """A run that is under way is no replication yet."""
    World(("mnist",), marks=PLAIN).write(tmp_path)
    pages = replication_pages(tmp_path)
    assert all(NOT_RUN in pages[name] for name in ("index.md", "searches.md", "run.md"))
    assert pages["claims.md"].count("Verdict: **not testable**") == len(CLAIMS)


@pytest.mark.long
@settings(max_examples=6)
@given(kept=st.sets(st.integers(0, 30), max_size=15))
def test_any_part_of_a_run_makes_a_page(tmp_path_factory: pytest.TempPathFactory, kept: set[int]) -> None:
    root = tmp_path_factory.mktemp("part")
    folder = World(("mnist", "mnist_by_writer")).write(root)
    write_manifest(folder)
    for place, path in enumerate(sorted(folder.rglob("*.parquet"))):
        if place not in kept:
            path.unlink()
    pages = replication_pages(root)
    assert len(re.findall(r"^Verdict: \*\*", pages["claims.md"], re.MULTILINE)) == len(CLAIMS)
    assert not any("nan" in page for page in pages.values())
