"""Which rows were made without the clipping that their scenario has today is said."""

from __future__ import annotations

from typing import Any

from sifu.report.old_clipping import not_clipped, old_clipping, pairs_not_clipped, since_clipped

CODE = "The paper's code, in its example, shortens gradients longer than 10,000."
LOST = "a model that explodes under its noise counts as diverged there."


def manifest(**clips: float | None) -> dict[str, Any]:
    """One block of training a scenario, with this clipping."""
    blocks = [{"stage": "train", "scenario": name, "settings": name} for name in clips]
    settings = {name: {"federation": {"clip": clip}} for name, clip in clips.items()}
    return {"blocks": blocks, "block_settings": settings}


def add(found: dict[str, Any], stage: str, scenario: str, clip: float | None, **block: object) -> None:
    """Another block of a scenario, with this clipping."""
    name = f"{stage} of {scenario}, {clip}, {block}"
    found["blocks"].append({"stage": stage, "scenario": scenario, "settings": name} | block)
    found["block_settings"][name] = {"federation": {"clip": clip}}


def plan(**clips: float | None) -> dict[str, Any]:
    return {name: {"federation": {"clip": clip}} for name, clip in clips.items()}


def test_rows_without_the_clipping_of_today_are_named() -> None:
    """CIFAR-10's has it already, MNIST's needs none, and CelebA's dataset is not run."""
    today = plan(mnist=None, fashionmnist=1e4, cifar10=1e4, celeba=1e4)
    found = manifest(mnist=None, cifar10=1e4, fashionmnist=None)
    assert not_clipped(today, found) == ["fashionmnist"]
    assert not_clipped(today, None) == []
    searched = {"stage": "scenario_search", "scenario": "celeba", "settings": "celeba"}
    found["blocks"].append(searched)
    found["block_settings"]["celeba"] = {"federation": {"clip": None}}
    assert not_clipped(today, found) == ["fashionmnist"], "a search tries other clippings"


def test_what_it_means_is_said_in_words() -> None:
    """Sweeps and sets of requests may have been run again before the main rows: the page says so."""
    today, found = plan(celeba=1e4, cifar10=1e4), manifest(celeba=None, cifar10=None)
    said = old_clipping(today, found, " and ".join)
    assert said.startswith(f"{CODE} Rows of celeba and cifar10 were made without that:")
    assert said.endswith(LOST)
    for stage, scenario, clip in (("sweep", "celeba", 1e4), ("request_sets", "celeba", None)):
        found["blocks"].append({"stage": stage, "scenario": scenario, "settings": f"{stage} of {scenario}"})
        found["block_settings"][f"{stage} of {scenario}"] = {"federation": {"clip": clip}}
    assert old_clipping(today, found, " and ".join) == f"{said} The sweeps of sigma of celeba were made with it."
    assert since_clipped("sweep", today, found) == ["celeba"]
    assert old_clipping(plan(mnist=None), found, " and ".join) == ""


def test_what_is_left_from_before_is_said() -> None:
    """CelebA's rows were run again, with clipping; its search and its alpha were not, and those of MNIST need none."""
    today, found = plan(celeba=1e4, mnist=None), manifest(celeba=1e4, mnist=None)
    add(found, "unlearn", "celeba", 1e4)
    for stage, scenario in (("search", "celeba"), ("alpha", "celeba"), ("alpha", "mnist"), ("sweep", "celeba")):
        add(found, stage, scenario, 1e4 if stage == "sweep" else None)
    left = "the searches of methods' settings of celeba; alpha of celeba."
    assert old_clipping(today, found, " and ".join) == f"{CODE} Without it were made: {left}"
    found["block_settings"]["cifar10"] = {"federation": {"clip": None}}
    found["blocks"].append({"stage": "train", "scenario": "cifar10", "settings": "cifar10"})
    said = old_clipping(today | plan(cifar10=1e4), found, " and ".join)
    assert said == f"{CODE} Rows of cifar10 were made without that: {LOST} Without it were made, too: {left}"


def test_a_scenario_of_which_some_methods_were_run_again_says_so() -> None:
    """And the training of a search is none of its rows."""
    today, found = plan(cifar10=1e4, cifar100=1e4), manifest(cifar10=None, cifar100=1e4)
    add(found, "unlearn", "cifar100", 1e4, seeds=[0, 4], variant="sifu")
    add(found, "train", "cifar100", None, seeds=[1_000_000, 1_000_001])
    assert not_clipped(today, found) == ["cifar10"]
    add(found, "unlearn", "cifar100", None, seeds=[0, 4], variant="last")
    said = old_clipping(today, found, " and ".join)
    assert "Rows of cifar10, and those of some methods on cifar100, were made without that" in said
    alone = old_clipping(plan(cifar100=1e4), found, " and ".join)
    assert alone == f"{CODE} Rows of some methods on cifar100 were made without that: {LOST}"


def test_what_is_left_from_before_is_said_where_some_methods_were_run_again() -> None:
    """Of CIFAR-100 searches and half of a sweep; where no answers were clipped, none of that stands out."""
    today, found = plan(cifar10=1e4, cifar100=1e4), manifest(cifar10=None, cifar100=1e4)
    for scenario, clip in (("cifar10", None), ("cifar100", None), ("cifar100", 1e4)):
        add(found, "unlearn", scenario, clip)
        add(found, "sweep", scenario, clip)
        add(found, "search", scenario, None)
    left = "the searches of methods' settings of cifar100; the sweeps of sigma of cifar100."
    assert old_clipping(today, found, " and ".join).endswith(f"{LOST} Without it were made, too: {left}")
    assert since_clipped("sweep", today, found) == [], "not all of the sweep"


def test_whether_answers_were_clipped_is_told_by_method() -> None:
    """Last's were not, SIFU's were; MNIST needs none, and what a search or a dataset unknown today has is no answer."""
    today, found = plan(cifar100=1e4, mnist=None), manifest(cifar100=1e4)
    for scenario in ("cifar100", "mnist", "celeba"):
        add(found, "unlearn", scenario, None, variant="last")
    add(found, "unlearn", "cifar100", 1e4, variant="sifu")
    add(found, "search", "cifar100", None, variant="fed_eraser_searched")
    assert pairs_not_clipped(today, found) == {("cifar100", "last")}
    assert pairs_not_clipped(today, None) == set()
