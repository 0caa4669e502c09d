"""A training that is long enough to have checkpoints, killed ten times at random moments: the same bytes.

On a GPU: `SIFU_FAULT_DEVICE=cuda SIFU_FAULT_ROUNDS=40000 python -m pytest -m faults tests/faults/test_checkpoints.py`.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.faults.conftest import wait_for
from tests.faults.test_stage_faults import folder_of, options, results_in, stage, write_config

DEVICE = os.environ.get("SIFU_FAULT_DEVICE", "cpu")
ROUNDS = int(os.environ.get("SIFU_FAULT_ROUNDS", "1200"))
KILLS = 10
LONGEST = 0.6  # seconds from the moment that a training goes on to the kill, at most

pytestmark = pytest.mark.faults


# the same command with more checkpoints: writing them may take half of the time, not a hundredth
OFTEN = """
import sifu.federation.checkpoint as checkpoint
from sifu.cli.main import main
checkpoint._WRITING_SHARE = 1
raise SystemExit(main())
"""


def start(root: Path, log: Path, *command: str) -> subprocess.Popen[bytes]:
    line = [sys.executable, "-c", OFTEN, *command, *options(root), "--device", DEVICE, "--checkpoint-seconds", "0.02"]
    paths = os.pathsep.join([str(REPO), *filter(None, [os.environ.get("PYTHONPATH")])])
    with log.open("w") as out:
        return subprocess.Popen(line, env=os.environ | {"PYTHONPATH": paths}, stdout=out, stderr=out)


def resumed_after(log: Path) -> int | None:
    found = re.search(r"resumes after (\d+) rounds", log.read_text())
    return int(found[1]) if found else None


def test_ten_kills_at_random_moments(tmp_path: Path) -> None:
    """Each start goes on from a checkpoint, never from an older one than before, and the end is as if undisturbed."""
    write_config(tmp_path / "config", stop={"accuracy": 0.9999, "min_rounds": ROUNDS, "max_rounds": ROUNDS})
    assert stage(tmp_path, "partition") == 0
    folder, log, moments = folder_of(tmp_path, "train"), tmp_path / "log.txt", random.Random(27)
    after: list[int | None] = []
    for _ in range(KILLS):
        process = start(tmp_path, log, "train")
        try:
            wait_for(
                lambda: resumed_after(log) is not None or (not after and any(folder.glob(".unfinished/*.safetensors")))
            )
            after.append(resumed_after(log))
            time.sleep(moments.uniform(0, LONGEST))
            assert process.poll() is None, "the training is too short: raise SIFU_FAULT_ROUNDS"
        finally:
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
        names = sorted(path.name for path in folder.iterdir())
        assert names == [".lock", ".unfinished"], "no file that could be taken for a result"
    assert start(tmp_path, log, "train").wait() == 0, log.read_text()[-2000:]
    after.append(resumed_after(log))
    print(f"killed {KILLS} times; went on after {after} of {ROUNDS} rounds")
    assert None not in after[1:], "each start but the first goes on"
    assert after == sorted(after, key=lambda count: count or 0)
    assert len(set(after)) > KILLS // 3, "checkpoints moved on between the kills"
    killed = results_in(folder)
    shutil.rmtree(folder)
    assert start(tmp_path, log, "train").wait() == 0
    assert resumed_after(log) is None
    assert killed == results_in(folder)
