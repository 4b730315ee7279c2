"""Models of node features and a graph together."""
