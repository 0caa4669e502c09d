"""Tables and figures for people, made of the results' Parquet tables alone."""
