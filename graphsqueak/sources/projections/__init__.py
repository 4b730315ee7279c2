"""One-mode projections of entity-attribute tables: entities joined by the attributes they share."""
