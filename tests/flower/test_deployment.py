"""The example with a real SuperLink and real SuperNodes, while some of them are killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from sifu.flower.chain import Chain
from sifu.flower.requests import open_request
from sifu.flower.store import HISTORY, LOG, Store
from tests.flower.processes import MARK, Flower, flower, marked, wait_for

pytestmark = pytest.mark.flower
GROUPS = ((0, 1, 2, 3, 4), (5, 6, 7, 8, 9))  # SuperNodes that start together: the ten clients of the example
CLIENTS = sum(len(group) for group in GROUPS)
# a SuperNode first ends what the killed server had asked of it, for a minute or so: the timeout must be longer
CONFIG = {"rounds": 2, "per_round": 2, "spares": 1, "timeout": 90.0, "identity_at_once": 5}


def lines(store: Path, name: str, kind: str) -> int:
    return sum(1 for _ in Chain(store / name).of_kind(kind))


def connected(processes: Flower) -> dict[int, subprocess.Popen[bytes]]:
    """The SuperNodes, five at a time; the process of each client."""
    nodes: dict[int, subprocess.Popen[bytes]] = {}
    for group in GROUPS:
        nodes |= {client: processes.supernode(client) for client in group}
        for client in group:
            name = f"supernode-{client}"
            wait_for(lambda name=name: "SuperNode ID" in processes.log(name), "a SuperNode connects", nodes[client])
    return nodes


def kill_tree(process: int) -> None:
    """Kill a process and all that it started, at once."""
    with contextlib.suppress(psutil.Error):
        whole = [psutil.Process(process), *psutil.Process(process).children(recursive=True)]
        for one in whole:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one.pid, signal.SIGKILL)


def kill_server(processes: Flower, store: Path) -> None:
    """Train; kill the server when it has gone back for the request, long before all of its rounds are done."""
    first = processes.run("first", store=store, forget="client-3", recovery=50, **CONFIG)
    wait_for(lambda: lines(store, HISTORY, "client") >= CLIENTS, "all clients have said who they are", first)
    wait_for(lambda: lines(store, HISTORY, "round") >= 2, "the training is done", first)
    wait_for(lambda: lines(store, HISTORY, "branch") >= 1, "the first request has gone back", first)
    for process in processes.processes("flwr-serverapp"):
        kill_tree(process.pid)
    request = open_request(Chain(store / LOG))
    assert request is not None
    assert request.clients == ("client-3",)


def kill_node(
    processes: Flower, nodes: dict[int, subprocess.Popen[bytes]], store: Path, again: subprocess.Popen[bytes]
) -> int:
    """Kill a SuperNode that was told to train for the second request. Returns its client."""
    told = dict.fromkeys(nodes, 0)

    def went_back() -> bool:
        told.update({client: trainings(processes, client) for client in nodes})  # before the line is looked for
        return lines(store, HISTORY, "branch") >= 2

    def training() -> list[int]:
        return [client for client in nodes if trainings(processes, client) > told[client]]

    wait_for(went_back, "the second request has gone back", again)
    wait_for(lambda: bool(training()), "a client trains for the second request", again)
    lost = training()[0]
    kill_tree(nodes[lost].pid)
    return lost


def trainings(processes: Flower, client: int) -> int:
    """How often the SuperNode of a client was told to train, by its log."""
    return processes.log(f"supernode-{client}").count("Receiving: train message")


def test_the_example_with_real_processes(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with flower(tmp_path / "flower") as processes:
        processes.superlink()
        nodes = connected(processes)
        kill_server(processes, store)
        again = processes.run("again", store=store, forget="client-3; client-7", recovery=1, **CONFIG)
        lost = kill_node(processes, nodes, store, again)
        again.wait(timeout=300)
        printed = processes.log("again")
    assert not marked(processes.environment[MARK]), "a process was left behind"
    assert "request 1: forgotten client-3" in printed, printed[-3000:]
    assert "request 2: forgotten client-7" in printed, printed[-3000:]
    assert lost not in (3, 7)  # forgotten clients are sent nothing that they could train
    checked(store, lost)


def checked(store: Path, lost: int) -> None:
    """What is in the store: two answers, the rounds that were asked for, and nobody who was forgotten in them."""
    history = Store(store).history
    training, first, second = (branch.rounds for branch in history.branches)
    assert (len(training), len(second)) == (2, 1)
    assert len(first) >= 1  # the server may have done a few before it was killed
    assert not any("client-3" in past.asked for past in first)
    last = second[0]
    assert not {"client-3", "client-7"} & set(last.asked)
    assert last.examples[last.place[f"client-{lost}"]] == 0.0  # its reply never came
    command = [sys.executable, "-m", "sifu.flower", str(store)]
    audit = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    assert audit.count("answered after") == 2
    assert "whole: 6 lines" in audit
