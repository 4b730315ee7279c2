"""Tables of (entity, attribute) as the graph that joins entities with an attribute in common."""
