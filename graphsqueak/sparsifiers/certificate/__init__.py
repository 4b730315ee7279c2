"""Measurement of the accuracy of a sparsifier, on the whole graph."""
