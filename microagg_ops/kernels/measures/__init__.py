"""Measures of a release: equivalence classes, record linkage, the fitness of a grouping."""
