"""Effective resistances, exact and sketched."""
