"""Colourings of the column-intersection graph: orderings, cliques, exhaustive search, tabu search."""
