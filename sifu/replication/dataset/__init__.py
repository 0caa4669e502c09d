"""The margins of a run's oracles as a dataset that others can use: tables, a README, a data card and checksums."""
