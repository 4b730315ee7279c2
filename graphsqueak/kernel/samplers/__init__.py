"""Samplers of points: dictionaries from all points at once, from a stream, from a tree."""
