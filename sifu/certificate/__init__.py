"""Certificates: sensitivity, noise, and which (epsilon, delta) really holds."""
