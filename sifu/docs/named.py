"""The scenarios and variants of a checkout's config, by name."""

from __future__ import annotations

from pathlib import Path

from sifu.config.scenario import Scenario
from sifu.config.variant import Variant
from sifu.plan.load import read_named


def scenarios(root: Path) -> dict[str, Scenario]:
    """All scenarios of config/scenarios.yaml."""
    return read_named(Scenario, root / "config" / "scenarios.yaml", "scenarios")


def variants(root: Path) -> dict[str, Variant]:
    """All variants of config/variants.yaml."""
    return read_named(Variant, root / "config" / "variants.yaml", "variants")


def variant_labels(root: Path) -> dict[str, str]:
    """What figures and tables call each variant, by its name."""
    return {name: variant.label for name, variant in variants(root).items()}
