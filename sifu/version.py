"""The version of the package, in a file that no hash of code has in it: a release makes no result stale."""

__version__ = "0.2.0"
