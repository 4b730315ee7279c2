"""Few edges: a spanning forest of low stretch, and the edges that it misses most."""
