"""Metrics of a model, a file each, and the test of whether a client's data were deleted."""
