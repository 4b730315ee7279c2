"""Merge trees for graphs and for kernel dictionaries.

`shapes` decides which results are merged. `running` defines what a leaf and a merge compute: both
are pure functions of their inputs and of a seed that belongs to the node. Hence every backend
(`backends`) gives the same result: this process, processes on this machine, or a Dask cluster.
"""
