"""`python -m sifu run`: what it refuses before Snakemake starts."""

from __future__ import annotations

import pytest

from sifu.cli.main import main
from tests.conftest import one_sentence


@pytest.mark.parametrize("cores", ["0", "-1", "two", "1.5", ""])
def test_cores_that_nothing_could_run_on(cores: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Refused while the command line is read: with no core Snakemake waits for ever."""
    with pytest.raises(SystemExit) as caught:
        main(["run", "--config", "/none.yaml", "--cores", cores])
    assert caught.value.code == 2
    assert f"--cores: '{cores}' is refused; allowed: a whole number of 1 or more, or all" in one_sentence(capsys)


@pytest.mark.parametrize("cores", ["1", "16", "all"])
def test_cores_that_a_run_may_have(cores: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--config", "/none.yaml", "--cores", cores]) == 2
    assert "cannot read /none.yaml" in one_sentence(capsys)
