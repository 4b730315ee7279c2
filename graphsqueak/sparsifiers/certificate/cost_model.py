"""Cost model of a certificate: how wide a Lanczos block is, and when to solve with the graph.

Costs are nanoseconds per edge, node or column that were measured once. The choice does not depend
on a clock, so that the same seed gives the same certificate on every machine.

*Width.* A block of s columns needs fewer steps than one column, but each step costs more
(`choose_block_width`). If weights differ by many orders of magnitude, a minimum width keeps the
start above rounding (`min_block_width`).

*Inverse pencil.* The lowest ratio mu of G to H is the inverse of the highest ratio of H to G.
Lanczos on L_G^+ L_H finds it in fewer steps than Lanczos on L_H^+ L_G, by a factor of about
sqrt(mu_max / mu_min), but each step solves with G (`is_inverse_cheaper`).
"""

import numpy as np

from graphsqueak.sparsifiers.certificate.block_lanczos import MAX_WINDOW_NUMBERS, n_columns_at_once
from graphsqueak.sparsifiers.certificate.outer_bounds import smallest_component

__all__ = ["choose_block_width", "is_inverse_cheaper", "min_block_width"]

# Steps that a block of s columns needs, relative to one column (random and heavy-tailed graphs).
RELATIVE_STEPS = {1: 1.0, 2: 0.69, 4: 0.5, 8: 0.39, 16: 0.31}

# Time to read an edge from a file and match its nodes. Doubled: a graph on disk takes half the
# passes and 37 % more time, because it is loaded for the inverse pencil. Halved: no change.
READ_NS_PER_EDGE = 100

# Time per edge of G to solve with it. Doubled: a tree of a heavy-tailed graph takes 2.3 times as
# long. Halved: graphs in memory are 19 % faster, and graphs on disk 36 % slower.
SOLVE_NS_PER_EDGE = 100

# Edges of a graph that is loaded for the inverse pencil. The limit bounds the memory of the solver.
# Halved or doubled: no change on graphs of up to 400,000 edges.
MAX_EDGES_TO_SOLVE = 2**22

# Smallest component of the start, in units of rounding. With less, gaps of a few percent between
# the bounds are not resolved. Doubled: no change. Halved: 45 % more steps and 10 % less time on two
# blocks joined by a weight of 1e-12, else no change.
MIN_COMPONENT_OVER_ROUNDING = 1000


def choose_block_width(sparsifier, n_edges, *, is_in_memory):
    """Return the number of columns for which a certificate is cheapest.

    Blocks of more than four columns are not used if they would take more than 256 MB.

    Parameters
    ----------
    sparsifier : EdgeList
    n_edges : int
        Edges of the graph.
    is_in_memory : bool
        Whether a product with the graph reads no file.

    Examples
    --------
    If each step reads a file, wider blocks share its cost:

    >>> from graphsqueak.sources import erdos_renyi
    >>> small = erdos_renyi(5_000, 40_000, random_state=1).to_edge_list()
    >>> choose_block_width(small, 500_000, is_in_memory=True)
    2
    >>> choose_block_width(small, 500_000, is_in_memory=False)
    8
    >>> choose_block_width(small, 5_000_000, is_in_memory=False)
    16
    """

    def total_ns(n_columns):
        step = _step_ns(sparsifier, n_edges, n_columns=n_columns, is_in_memory=is_in_memory)
        # Orthogonalization takes about 200 ns per number, and the bounds 1 ms per column.
        other = (200 * sparsifier.n_nodes + 1e6) * n_columns
        return RELATIVE_STEPS[n_columns] * (step + other)

    return min(_possible_widths(sparsifier.n_nodes), key=total_ns)


def min_block_width(n_nodes, delta, rounding):
    """Return the width for which the start is not dominated by rounding in any direction.

    With probability `delta`, a single random column has a very small component along some
    direction. The smallest component of several columns is much larger.

    >>> min_block_width(3000, 0.01, 1e-12), min_block_width(3000, 0.01, 1e-6)
    (1, 2)
    """
    widths = _possible_widths(n_nodes)
    for n_columns in widths:
        component = smallest_component(delta / 2, n_columns, n_nodes)
        if component >= MIN_COMPONENT_OVER_ROUNDING * rounding:
            return n_columns
    return widths[-1]


def is_inverse_cheaper(ratios, sparsifier, n_edges, *, is_in_memory):
    """Return whether the inverse pencil bounds the lowest of `ratios` (lowest, highest) sooner."""
    step = _step_ns(sparsifier, n_edges, n_columns=1, is_in_memory=is_in_memory)
    # Twice the cost of the solves, because the second run starts from the beginning.
    inverse_step = 2 * SOLVE_NS_PER_EDGE * n_edges
    is_cheaper = inverse_step <= np.sqrt(ratios[1] / ratios[0]) * step
    return n_edges <= MAX_EDGES_TO_SOLVE and is_cheaper


def _step_ns(sparsifier, n_edges, *, n_columns, is_in_memory):
    """Return the time of one product with L_G and one solve with L_H."""
    read = 0 if is_in_memory else READ_NS_PER_EDGE
    product = n_edges * (read + 6 + 1.5 * n_columns)
    # About a dozen iterations of conjugate gradients per solve. The edges are read once for all
    # columns that are solved together.
    n_solves = -(-n_columns // n_columns_at_once(sparsifier.n_nodes))
    return product + sparsifier.n_edges * (130 * n_solves + 50 * n_columns)


def _possible_widths(n_nodes):
    # The window has 6 vectors per column, and blocks with their products take 5 more.
    return [s for s in RELATIVE_STEPS if s <= 4 or (10 + 11 * s) * n_nodes <= MAX_WINDOW_NUMBERS]
