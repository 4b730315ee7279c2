"""The dimension of a graph: how fast balls grow around its nodes.

If a ball of radius r holds about r^d nodes, then d = log2(|ball of 2 r| / |ball of r|): 1 on
paths, 2 on planar meshes, 3 on solid ones, large on expanders. A d-dimensional graph of n nodes has
separators of order n^(1 - 1/d), which is what a direct factorization costs by.
"""

import numba
import numpy as np

__all__ = ["dimension"]

N_BALLS = 16
SMALL_BALL = 40
MOST_EDGES = 10_000
HIGH = 10.0


def dimension(rows):
    """Mean of log2(|ball of 2 r| / |ball of r|) over a few balls, r such that the small one has 40.

    A ball that takes more than 10,000 edges to search counts as dimension 10.

    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.solvers.matrix import build_rows
    >>> path = EdgeList(tail=np.arange(9_999), head=np.arange(1, 10_000))
    >>> dimension(build_rows(path, np.zeros(10_000)))
    1.0
    """
    seeds = np.arange(rows.n_nodes)[:: max(1, rows.n_nodes // N_BALLS)]
    return float(_mean_growth(rows.start, rows.neighbor, seeds))


@numba.njit(cache=True, nogil=True)
def _mean_growth(start, neighbor, seeds):
    owner = np.full(start.size - 1, -1, dtype=np.int32)
    queue = np.empty(start.size - 1, dtype=neighbor.dtype)
    total = 0.0
    for ball in range(seeds.size):
        queue[0] = seeds[ball]
        owner[seeds[ball]] = ball
        low, reached, scanned = 0, 1, 0
        radius = small_radius = small_size = 0
        while low < reached and scanned < MOST_EDGES:
            if small_size == 0 and reached >= SMALL_BALL:
                small_radius, small_size = radius, reached
            if small_size > 0 and radius == 2 * small_radius:
                break
            high = reached
            while low < high and scanned < MOST_EDGES:
                node = queue[low]
                low += 1
                scanned += start[node + 1] - start[node]
                for e in range(start[node], start[node + 1]):
                    if owner[neighbor[e]] != ball:
                        owner[neighbor[e]] = ball
                        queue[reached] = neighbor[e]
                        reached += 1
            radius += 1
        if scanned >= MOST_EDGES:
            total += HIGH
        elif small_size > 0:
            total += np.log2(reached / small_size)
    return total / max(1, seeds.size)
