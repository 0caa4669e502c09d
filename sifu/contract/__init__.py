"""What every method, metric and model must do: the same checks for those of the suite and for your own."""
