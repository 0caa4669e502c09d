"""The figures, a file each."""
