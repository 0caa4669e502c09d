"""The command line: `python -m sifu`."""
