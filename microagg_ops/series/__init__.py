"""A schedule is a series of tables about the same people: its ledger, and history k.

Pure: lists, arrays and Arrow in and out; where a ledger is kept is for the stages.
"""
