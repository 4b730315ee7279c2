"""Merge trees: what a part gives, what parts together give, and who computes it.

A tree (`shapes`) says which results are merged with which. Its leaves and merges are pure functions
of their inputs and of a seed that belongs to their node of the tree (`running`), so one backend
(`backends`) is as good as another: this process, processes on this machine, or a Dask cluster.
Graphs and kernel dictionaries both run on it.
"""
