"""Unlearning methods, a file each."""
