"""Measures of loss and of anonymity."""
