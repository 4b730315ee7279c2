"""Nearest-neighbor graphs of points, as streams."""
