"""Widths of blocks, and when the inverse pencil is used."""

import pytest

from graphsqueak import EdgeList, sources
from graphsqueak.sparsifiers.certificate.cost_model import (
    choose_block_width,
    is_inverse_cheaper,
    min_block_width,
)


@pytest.mark.parametrize(
    ("n_nodes", "widest"), [(5000, 16), (150_000, 16), (300_000, 8), (10**6, 4), (10**7, 4)]
)
def test_wide_blocks_are_for_graphs_of_few_nodes(n_nodes, widest):
    sparsifier = EdgeList(tail=[0], head=[1], n_nodes=n_nodes)
    assert choose_block_width(sparsifier, 10**13, is_in_memory=False) == widest
    assert choose_block_width(sparsifier, 1, is_in_memory=True) == 1


def test_blocks_widen_with_rounding():
    widths = [min_block_width(3000, 0.01, rounding) for rounding in (0.0, 1e-7, 1e-6, 1e-5, 1.0)]
    assert widths == sorted(widths)
    assert (widths[0], widths[-1]) == (1, 16)


def test_the_inverse_pencil_is_for_wide_spectra_and_graphs_that_fit():
    sparsifier = sources.path(1000).to_edge_list()
    assert not is_inverse_cheaper((1.0, 2.0), sparsifier, 10_000, is_in_memory=True)
    assert is_inverse_cheaper((1.0, 1e4), sparsifier, 10_000, is_in_memory=True)
    assert not is_inverse_cheaper((1.0, 1e20), sparsifier, 10**8, is_in_memory=False)


def test_reading_makes_the_inverse_pencil_cheaper():
    """A step that reads costs more, while the inverse pencil has the graph in memory."""
    sparsifier = sources.path(1000).to_edge_list()
    ratios = (1.0, 9.0)
    assert not is_inverse_cheaper(ratios, sparsifier, 10**6, is_in_memory=True)
    assert is_inverse_cheaper(ratios, sparsifier, 10**6, is_in_memory=False)
