"""`sifu certify` and `sifu audit-noise`: what they print."""

from __future__ import annotations

import pytest

from sifu.cli.main import main


def test_certify_tells_the_truth(capsys: pytest.CaptureFixture[str]) -> None:
    """Psi* 0.1609 and 0.1428 at sigma 0.05; the textbook's delta is really 0.0406."""
    assert main(["certify", "--epsilon", "10", "--delta", "0.01", "--sigma", "0.05"]) == 0
    shown = capsys.readouterr().out
    for word in ("published", "released", "strict", "0.1609", "0.142818", "0.04058", "11.92"):
        assert word in shown


def test_certify_prints_the_contraction(capsys: pytest.CaptureFixture[str]) -> None:
    """eta 0.1, beta 2, mu 0.5: 1.2, 1 and 0.96; eta 2 is too long for the convex case."""
    usual = ["certify", "--epsilon", "10", "--delta", "0.01", "--sigma", "0.05", "--beta", "2", "--mu", "0.5"]
    assert main([*usual, "--client-lr", "0.1"]) == 0
    shown = capsys.readouterr().out
    assert "B, smooth: 1.2\nB, convex: 1\nB, strongly convex: 0.96" in shown
    assert main([*usual, "--client-lr", "2"]) == 0
    assert "B, convex: none (at most 2 / beta = 1 for a convex loss)" in capsys.readouterr().out


def test_the_noise_audit_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit-noise", "--draws", "1000", "--epsilon", "10"]) == 0
    assert "(not refuted)" in capsys.readouterr().out
    assert main(["audit-noise", "--draws", "1000", "--epsilon", "10", "--noise", "0.5"]) == 0
    assert "(refuted)" in capsys.readouterr().out
