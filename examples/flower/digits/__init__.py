"""Ten clients learn digits, and two of them are forgotten (docs/flower.md)."""
