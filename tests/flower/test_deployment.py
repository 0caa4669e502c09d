"""The example with a real SuperLink and ten real SuperNodes, while some of them are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from sifu.flower.chain import Chain
from sifu.flower.requests import open_request
from sifu.flower.store import HISTORY, LOG, Store
from tests.flower.processes import MARK, Flower, flower, marked, wait_for

pytestmark = pytest.mark.flower
PAIRS = ((3, 7), (0, 1), (2, 4), (5, 6), (8, 9))  # SuperNodes that start together; those to forget first
CONFIG = {"rounds": 2, "recovery": 1, "per_round": 2, "spares": 1, "forget": "client-3; client-7"}


def lines(store: Path, name: str, kind: str) -> int:
    return sum(1 for _ in Chain(store / name).of_kind(kind))


def connected(processes: Flower) -> dict[int, int]:
    """The SuperNodes, two at a time; the process of each client."""
    nodes: dict[int, int] = {}
    for pair in PAIRS:
        nodes |= {client: processes.supernode(client) for client in pair}
        for client in pair:
            wait_for(lambda name=f"supernode-{client}": "SuperNode ID" in processes.log(name), "a SuperNode connects")
    return nodes


def kill_tree(process: int) -> None:
    """Kill a process and all that it started, at once."""
    whole = [psutil.Process(process), *psutil.Process(process).children(recursive=True)]
    for one in whole:
        os.kill(one.pid, signal.SIGKILL)


def kill_server(processes: Flower, store: Path) -> float:
    """Train; kill the server when it has gone back for the first request. Returns the seconds of a round."""
    wait_for(lambda: lines(store, HISTORY, "round") >= 1, "the first round is done")
    begun = time.monotonic()
    wait_for(lambda: lines(store, HISTORY, "round") >= 2, "the second round is done")
    seconds = time.monotonic() - begun
    wait_for(lambda: lines(store, HISTORY, "branch") == 1, "the first request has gone back")
    for process in processes.processes("flwr-serverapp"):
        kill_tree(process.pid)
    request = open_request(Chain(store / LOG))
    assert request is not None
    assert request.clients == ("client-3",)
    return seconds


def kill_node(processes: Flower, nodes: dict[int, int], store: Path) -> int:
    """Kill a SuperNode that is training for the second request. Returns its client."""
    wait_for(lambda: lines(store, HISTORY, "branch") == 2, "the second request has gone back")
    found: list[int] = []

    def training() -> bool:
        owners = {pid for process in processes.processes("flwr-clientapp") for pid in map(_pid, process.parents())}
        found.extend(client for client, pid in nodes.items() if pid in owners)
        return bool(found)

    wait_for(training, "a client trains for the second request")
    kill_tree(nodes[found[0]])
    return found[0]


def _pid(process: psutil.Process) -> int:
    return process.pid


def test_the_example_with_real_processes(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with flower(tmp_path / "flower") as processes:
        processes.superlink()
        processes.run("first", store=store, **CONFIG)
        nodes = connected(processes)
        seconds = kill_server(processes, store)
        again = processes.run("again", store=store, timeout=max(30.0, 4 * seconds), **CONFIG)
        lost = kill_node(processes, nodes, store)
        again.wait(timeout=900)
        printed = processes.log("again")
    assert not marked(processes.environment[MARK]), "a process was left behind"
    assert "request 1: forgotten client-3" in printed, printed[-3000:]
    assert "request 2: forgotten client-7" in printed, printed[-3000:]
    assert lost not in (3, 7)  # forgotten clients are sent nothing that they could train
    checked(store, lost)


def checked(store: Path, lost: int) -> None:
    """What is in the store: two answers, the rounds that were asked for, and nobody who was forgotten in them."""
    history = Store(store).history
    assert [len(branch.rounds) for branch in history.branches] == [2, 1, 1]
    assert "client-3" not in history.branches[1].rounds[0].asked
    last = history.branches[2].rounds[0]
    assert not {"client-3", "client-7"} & set(last.asked)
    assert last.examples[last.place[f"client-{lost}"]] == 0.0  # its reply never came
    command = [sys.executable, "-m", "sifu.flower", str(store)]
    audit = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    assert audit.count("answered after 1 rounds") == 2
    assert "whole: 6 lines" in audit
