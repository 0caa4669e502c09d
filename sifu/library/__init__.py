"""`import sifu`: train a federation and forget clients in Python, on data that are given as arrays."""
