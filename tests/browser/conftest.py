"""A browser for the tests of pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; without it a test skips, or fails where SIFU_REQUIRE_BROWSER is set (CI)."""
    if CHROMIUM is None:
        message = "needs Chromium (Debian: apt-get install chromium)"
        if os.environ.get("SIFU_REQUIRE_BROWSER"):
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()
