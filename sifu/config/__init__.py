"""What a user may write: settings of scenarios, variants, searches and runs. Light: the Snakefile reads it."""
