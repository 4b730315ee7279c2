"""Graphs that are made: closed forms, and random ones by their seed."""
