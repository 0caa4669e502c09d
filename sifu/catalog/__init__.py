"""What exists, a line each: datasets, models, methods, metrics, figures. Light: the Snakefile reads it."""
