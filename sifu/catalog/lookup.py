"""Registries hold "module:name" strings, so that listing what exists imports nothing.

It keeps parsing the Snakefile cheap, and lets a rule depend on the one model or method that it uses
(see `code_hash`) instead of on all of them.
"""

from __future__ import annotations

import importlib
from typing import Any


def resolve(target: str) -> Any:
    """The object that "module:name" stands for."""
    module, name = target.split(":")
    return getattr(importlib.import_module(module), name)


def module_of(target: str) -> str:
    return target.split(":")[0]
