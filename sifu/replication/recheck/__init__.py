"""Cells of a stored run, run again and compared with what is stored."""
