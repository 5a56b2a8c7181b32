"""Data and contracts. No I/O, no engine, no model."""
