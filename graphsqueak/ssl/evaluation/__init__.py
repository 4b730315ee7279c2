"""Measures of how well models predict labels that they were not fitted to."""
