"""Synthetic graphs: deterministic ones with known spectra, and random ones."""
