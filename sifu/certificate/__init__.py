"""Certificates that tell the truth: sensitivity, noise, and what an (epsilon, delta) claim is really worth."""
