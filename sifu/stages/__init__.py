"""The stages: files in, files out. A rule, a stage, a results folder and a table share one name."""
