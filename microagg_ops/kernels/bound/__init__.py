"""Lower bounds on the loss of any partition into clusters of at least k rows."""
