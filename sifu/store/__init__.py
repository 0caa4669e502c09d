"""Files of results: paths, tables, tensors, provenance, locks."""
