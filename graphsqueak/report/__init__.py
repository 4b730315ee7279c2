"""Rows in; progress, tables and figures out. Nothing is computed here."""
