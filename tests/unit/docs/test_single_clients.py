"""What docs/certificates.md says of clients that leave one by one."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from sifu.certificate.gaussian import largest_ratio
from sifu.docs import single_clients as page
from sifu.replication.published import Published
from tests.conftest import REPO

LIMIT = largest_ratio(10.0, 0.01, "analytic")  # of alpha over the noise, for (10, 0.01)


def words(monkeypatch: pytest.MonkeyPatch, scenario: str, *ratios: float) -> str:
    """The sentence on promises of (10, 0.01) with noise of 0.5, at so many times the distance that it hides."""
    key = {"status": "done", "scenario": scenario, "variant": "sifu", "stop": "target", "sigma": 0.5}
    promise = {"claimed_epsilon": 10.0, "claimed_delta": 0.01}
    rows = pd.DataFrame([key | promise | {"alpha": 0.5 * ratio * LIMIT} for ratio in ratios])
    others = [rows.assign(variant="scratch"), rows.assign(stop="budget_25"), rows.assign(alpha=None)]
    tables = type("Tables", (), {"cells": pd.concat([rows, *others])})
    monkeypatch.setattr(page, "read_tables", lambda folder: tables)
    return page.single_clients(REPO, Published(Path(), Path(), Path()))


def test_promises_that_are_exceeded_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the limit itself epsilon is 10, by construction; a little further it is more."""
    found = words(monkeypatch, "mnist_single", 0.5, 0.9999, 1.5)
    start = "on MNIST, single clients, of SIFU's promises (epsilon 10 at delta 0.01) 1 of 3 are exceeded, "
    assert found.startswith(f"{start}given all draws; the median epsilon is 10.0, the largest ")


def test_requests_of_several_clients_are_not_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    assert words(monkeypatch, "mnist", 1.5) == "no such scenario has been run yet."
