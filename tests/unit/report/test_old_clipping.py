"""Which rows were made without the clipping that their scenario has today is said."""

from __future__ import annotations

from typing import Any

from sifu.report.old_clipping import not_clipped, old_clipping, since_clipped

CODE = "The paper's code, in its example, shortens gradients longer than 10,000."
LOST = "a model that explodes under its noise counts as diverged there."


def manifest(**clips: float | None) -> dict[str, Any]:
    """One block of training a scenario, with this clipping."""
    blocks = [{"stage": "train", "scenario": name, "settings": name} for name in clips]
    settings = {name: {"federation": {"clip": clip}} for name, clip in clips.items()}
    return {"blocks": blocks, "block_settings": settings}


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
    for stage, scenario in (("search", "celeba"), ("alpha", "celeba"), ("alpha", "mnist"), ("sweep", "celeba")):
        clip = 1e4 if stage == "sweep" else None
        found["blocks"].append({"stage": stage, "scenario": scenario, "settings": f"{stage} of {scenario}"})
        found["block_settings"][f"{stage} of {scenario}"] = {"federation": {"clip": clip}}
    left = "the searches of methods' settings of celeba; alpha of celeba."
    assert old_clipping(today, found, " and ".join) == f"{CODE} Without it were made: {left}"
    found["block_settings"]["cifar10"] = {"federation": {"clip": None}}
    found["blocks"].append({"stage": "train", "scenario": "cifar10", "settings": "cifar10"})
    said = old_clipping(today | plan(cifar10=1e4), found, " and ".join)
    assert said == f"{CODE} Rows of cifar10 were made without that: {LOST} Without it were made, too: {left}"


def test_a_scenario_of_which_some_methods_were_run_again_says_so() -> None:
    """And the training of a search is none of its rows."""
    today, found = plan(cifar10=1e4, cifar100=1e4), manifest(cifar10=None, cifar100=1e4)
    for stage, clip, seeds in (
        ("unlearn", 1e4, [0, 4]),
        ("unlearn", None, [0, 4]),
        ("train", None, [1_000_000, 1_000_001]),
    ):
        name = f"{stage} {clip} {seeds}"
        found["blocks"].append({"stage": stage, "scenario": "cifar100", "settings": name, "seeds": seeds})
        found["block_settings"][name] = {"federation": {"clip": clip}}
    said = old_clipping(today, found, " and ".join)
    assert "Rows of cifar10, and those of some methods on cifar100, were made without that" in said
    found["blocks"] = [block for block in found["blocks"] if block["settings"] != "unlearn None [0, 4]"]
    assert not_clipped(today, found) == ["cifar10"]
