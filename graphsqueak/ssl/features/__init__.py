"""Features of the nodes and the graph together."""
