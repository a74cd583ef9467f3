"""Engines: how what a stage asks of a table is answered, on one machine or on many."""
