"""Colourings of the graph in which columns that share a row are neighbours: orders, cliques, search, proofs."""
