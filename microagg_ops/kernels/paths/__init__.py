"""Tours and paths through the rows, and the best clusters along them."""
