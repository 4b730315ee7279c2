"""How good a sparsifier is, measured on the whole graph."""
