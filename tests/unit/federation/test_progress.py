"""Progress: plain lines without a terminal, a bar in one."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from sifu.federation.progress import show_progress
from sifu.federation.segment import Evaluation
from tests.conftest import REPO


def test_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress("train x", 100) as progress:
        progress(0, [Evaluation(0, 0, 0.1, None), Evaluation(1, 0, 0.3, None)], 2)
        progress(10, [Evaluation(0, 10, 0.5, None)], 2)  # too soon after the line before
        progress(20, [Evaluation(0, 20, 0.9, None), Evaluation(1, 20, 0.7, None)], 0)  # the last one is always printed
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("train x: round 0, 2 seeds running, retain accuracy 0.100 / 0.200 / 0.300")
    assert lines[1].startswith("train x: round 20, 0 seeds running, retain accuracy 0.700 / 0.800 / 0.900")


@pytest.mark.second
def test_a_bar_in_a_terminal() -> None:
    code = (
        "from sifu.federation.progress import show_progress; from sifu.federation.segment import Evaluation\n"
        "with show_progress('train x', 100) as progress: progress(50, [Evaluation(0, 50, 0.5, None)], 1)"
    )
    main_side, terminal = pty.openpty()
    environment = os.environ | {"COLUMNS": "160", "TERM": "xterm"}
    subprocess.run([sys.executable, "-c", code], stderr=terminal, cwd=REPO, check=True, env=environment)
    os.close(terminal)
    shown = b""
    try:
        while part := os.read(main_side, 4096):
            shown += part
    except OSError:  # the end of a closed pseudo-terminal
        pass
    text = shown.decode()
    assert "50/100" in text
    assert "retain accuracy 0.500" in text
    assert "left" in text
