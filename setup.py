"""Puts the workflow and the configs into a wheel, so that an installed `sifu` runs in any folder."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SHIPPED = ("Snakefile", "config", "workflow", "profiles")


class BuildWithWorkflow(build_py):
    """Besides the package's own files, those at the top of the checkout, as sifu/shipped."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib, "sifu", "shipped")
            shutil.rmtree(target, ignore_errors=True)  # of an earlier build
            target.mkdir(parents=True)
            for part in SHIPPED:
                _copy(Path(__file__).parent / part, target / part)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


setup(cmdclass={"build_py": BuildWithWorkflow})
