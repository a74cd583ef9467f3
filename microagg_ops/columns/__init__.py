"""Columns as they are in tables, and as the numbers that distances are made of."""
