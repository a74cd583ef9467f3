"""The audit report of a run: its figures, what of them may leave, plots, pages and evidence.

Nothing here holds a record or a cell value: figures are counts, shares and moments of many rows.
"""
