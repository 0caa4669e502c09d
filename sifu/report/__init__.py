"""From Parquet alone to tables and figures."""
