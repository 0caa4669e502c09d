"""The example in Flower's simulation: train, forget two clients one after another, verify."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from sifu.flower.audit import verify
from sifu.flower.store import Store
from tests.conftest import REPO
from tests.flower.processes import flower, marked

pytestmark = pytest.mark.flower


def command_of_the_page() -> dict[str, object]:
    """The settings of the run in simulation, as docs/flower.md has it."""
    page = (REPO / "docs" / "flower.md").read_text()
    given = re.search(r'flwr run examples/flower simulation --stream --run-config "(.*)"', page)
    assert given is not None
    return tomllib.loads(re.sub(r" (?=[\w-]+=)", "\n", given[1]))


def test_the_example_in_simulation(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with flower(tmp_path / "flower", "options.num-supernodes = 10\n") as processes:
        processes.superlink("--simulation")
        run = processes.run("run", **(command_of_the_page() | {"store": str(store)}))
        run.wait(timeout=600)
        printed = processes.log("run")
        mark = processes.environment["SIFU_FLOWER_TEST"]
    assert not marked(mark), "a process was left behind"
    shares = [float(share) for share in re.findall(r"accuracy (0\.\d+)", printed)]
    assert len(shares) >= 3, printed[-3000:]
    assert "request 1: forgotten client-3" in printed
    assert "request 2: forgotten client-7" in printed
    assert "claimed (published): epsilon 10, delta 0.01" in printed
    log, _ = verify(store)
    assert [body["clients"] for body in log.of_kind("answer")] == [["client-3"], ["client-7"]]
    history = Store(store).history
    assert len(history.sizes) == 10
    for branch, gone in ((1, {"client-3"}), (2, {"client-3", "client-7"})):
        assert len(history.branches[branch].rounds) == 3
        assert not any(gone & set(past.asked) for past in history.branches[branch].rounds)
    assert min(shares) > 0.6  # of ten digits, after so few rounds
