"""Rows are grouped by attribute, in memory or in a temporary file."""

import numpy as np
import pytest

from graphsqueak.sources.projections.entity_attribute_table import EntityAttributeTable


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_rows_in_memory", [1, 10, 10**6])
def test_rows_are_grouped_in_their_order(max_rows_in_memory, weighted):
    rng = np.random.default_rng(77_215)
    entity = rng.integers(40, size=500)
    attribute = rng.integers(9, size=500)
    weight = rng.lognormal(size=500)
    table = EntityAttributeTable(max_rows_in_memory)
    for block in np.array_split(np.arange(500), 7):
        table.append(entity[block], attribute[block], weight[block] if weighted else None)
    assert table.n_rows == 500
    cliques = table.group_by_attribute(n_entities=40, n_attributes=10)
    for a in range(10):
        # Repeated rows count once, or with the sum of their weights, where they come first.
        sums = {}
        for e, w in zip(entity[attribute == a].tolist(), weight[attribute == a], strict=True):
            sums[e] = sums.get(e, 0) + w
        rows = slice(cliques.starts[a], cliques.starts[a + 1])
        assert cliques.members[rows].tolist() == list(sums)
        if weighted:
            np.testing.assert_allclose(cliques.weight[rows], list(sums.values()))
    assert cliques.sizes[9] == 0
    assert cliques.weight.size == (cliques.members.size if weighted else 0)
