"""Pages that are generated from code, config and stored tables, so that they cannot drift."""
