"""The published replication of the SIFU paper: its claims, its manifest, and running it again."""
