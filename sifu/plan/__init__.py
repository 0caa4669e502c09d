"""From config files to a plan: every name looked up, what is stale, which files are made. Light."""
