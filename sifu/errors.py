"""What the suite says when its input is bad: one sentence, no traceback."""

from __future__ import annotations


class SifuError(Exception):
    """Bad input. The message is one sentence that says what is wrong, where, and what to do."""


class DataError(SifuError):
    """A dataset that is missing, damaged or too small for what was asked of it."""


class StoreError(SifuError):
    """A results file that is missing, or whose contents do not fit their table."""


class MethodRefused(SifuError):
    """A method that does not apply to a scenario says so with this; its cells get the status `refused`."""


class ConfigError(SifuError):
    """A setting that is refused; `key` is its dotted path, so that callers can put it into context."""

    def __init__(self, key: str, value: object, allowed: str) -> None:
        self.key, self.value, self.allowed = key, value, allowed
        super().__init__(f"{key}: {value!r} is refused; allowed: {allowed}")

    def inside(self, path: str) -> ConfigError:
        """The same refusal, its key seen from one level further out."""
        return ConfigError(f"{path}.{self.key}" if path else self.key, self.value, self.allowed)


class MethodError(SifuError):
    """A method that breaks the interface: it reads what it does not declare, or gives back something else."""
