"""The stream sparsifier: one pass, fixed memory."""
