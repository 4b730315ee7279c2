"""How scores become classes and probabilities."""
