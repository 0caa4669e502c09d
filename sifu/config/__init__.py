"""The settings of scenarios, variants, searches and runs. The Snakefile imports them, so they do not import torch."""
