"""A networkx graph with names and weights, and a comparison of results."""

import networkx as nx
import numpy as np
import pytest

OURS = {"backend": "graphsqueak"}
THEIRS = {"backend": "networkx"}


def connected_graph(seed, *, n=60, multi=False, loops=False):
    """Return a connected graph with two edge attributes, on names of several types."""
    rng = np.random.default_rng(seed)
    G = nx.MultiGraph() if multi else nx.Graph()
    names = [f"n{i}" if i % 2 else (i, "x") for i in range(n)]
    ends = [
        *zip(range(n - 1), range(1, n), strict=True),
        *rng.integers(n, size=(3 * n, 2)).tolist(),
    ]
    for u, v in ends:
        if u != v or loops:
            G.add_edge(names[u], names[v], weight=float(rng.lognormal()), cost=float(u + v + 1))
    return G


def assert_close(ours, theirs):
    """Check that two results have the same types and, up to rounding, the same values."""
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            assert_close(ours[key], theirs[key])
    else:
        assert type(ours) is type(theirs)
        assert ours == pytest.approx(theirs, rel=1e-8, abs=1e-9)
