"""One graph in many parts: their streams, merged up a tree."""
