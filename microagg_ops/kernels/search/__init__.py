"""Searches that lower the SSE of a partition: annealing, ejection chains, local search."""
