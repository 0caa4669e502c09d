"""Random keys and the few types that everything else speaks in."""
