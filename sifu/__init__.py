"""A benchmark suite for federated unlearning."""

__version__ = "0.1.0"

RULES_VERSION = "0.2"
"""Results made under the same major.minor are comparable; stamped in every table."""
