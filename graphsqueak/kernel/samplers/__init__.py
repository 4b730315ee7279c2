"""Samplers of landmarks: from all points in memory, from a stream, by a tree of merges."""
