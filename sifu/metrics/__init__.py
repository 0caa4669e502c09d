"""Metrics of a model, one per file, and the test of whether a client's data were deleted."""
