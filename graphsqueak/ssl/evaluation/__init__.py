"""How well labels are predicted that a model did not know."""
