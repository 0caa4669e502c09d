"""Where the workflow and the configs of the suite lie: in the checkout, or inside of the installed package."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_INSTALLED = _PACKAGE / "shipped"  # setup.py puts them there when it makes a wheel

SUITE = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent
"""The folder of Snakefile, config, workflow and profiles."""

CHECKOUT = SUITE != _INSTALLED
"""Whether the package is used from a checkout."""


def config_file(name: str) -> Path:
    """`config/<name>` of the current folder, or else that of the suite."""
    here = Path("config", name)
    return here if here.exists() else SUITE / here
