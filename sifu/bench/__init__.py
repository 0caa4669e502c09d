"""Speed: rounds compared with the plain loop and with the machine's ceilings, and complete trainings."""
