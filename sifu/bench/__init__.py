"""Speed, measured on the spot: rounds against the plain loop and the machine's ceilings, and whole trainings."""
