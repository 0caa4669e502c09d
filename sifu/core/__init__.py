"""Random keys, and the types that all other packages use."""
