"""From points to the graph of their neighbors, as a stream."""
