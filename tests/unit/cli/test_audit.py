"""The table that `python -m sifu audit` prints."""

from __future__ import annotations

import pytest

from sifu.cli.audit import _print_rows


def test_each_promise_stands_with_its_own_delta(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = dict.fromkeys(("strict_epsilon", "measured_epsilon"), None) | {
        "proved_epsilon": 1.0,
        "most_provable": 2.0,
    }
    row = {"request": 1, "clients": 3, "claimed_epsilon": 10.0, "models": 20, "verdict": "cannot tell"} | numbers
    _print_rows(
        [row | {"variant": "a", "covers": 1, "delta": 0.01}, row | {"variant": "b", "covers": 3, "delta": 0.25}]
    )
    first, second = [line for line in capsys.readouterr().out.splitlines() if "cannot tell" in line]
    assert [word in first for word in ("each alone", "0.01")] == [True, True]
    assert [word in second for word in ("3 together", "0.25")] == [True, True]
