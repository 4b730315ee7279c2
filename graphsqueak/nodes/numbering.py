"""Which node is which across batches that may number them differently."""

import numpy as np

from graphsqueak.errors import InputError

__all__ = ["Numbering"]


class Numbering:
    """Matches the nodes of each batch with those seen before.

    Batches of one source share one object of ids and are numbered alike: nothing to do. Batches
    with ids of their own are matched by id. Batches without ids are numbers already.

    >>> from graphsqueak.graph import EdgeList
    >>> numbering = Numbering()
    >>> _ = numbering.apply(EdgeList.from_pairs([("ann", "bob")]))
    >>> numbering.apply(EdgeList.from_pairs([("cy", "bob")]))[:2]
    (array([2], dtype=int32), array([1], dtype=int32))
    """

    def __init__(self, ids=None):
        self._given = ids  # the ids object of the source, or None
        self._place = None  # id -> number, once batches have ids of their own
        self._is_fresh = ids is None

    @property
    def ids(self):
        """Ids of all nodes so far, or None if they are plain numbers."""
        if self._place is None:
            return self._given
        ids = np.empty(len(self._place), dtype=object)
        ids[:] = list(self._place)
        return ids

    def apply(self, batch):
        """Tail, head and number of nodes of a batch, in our numbering."""
        if self._is_fresh:
            self._given, self._is_fresh = batch.own_ids, False
        if self._place is None and batch.own_ids is self._given:
            return batch.tail, batch.head, batch.n_nodes
        if batch.own_ids is None or self._given is None:
            raise InputError("batches with ids and batches without cannot be put together")
        if self._place is None and self._continues(batch):
            self._given = batch.own_ids
            return batch.tail, batch.head, batch.n_nodes
        place = self._numbers(batch.ids)
        return place[batch.tail], place[batch.head], len(self._place)

    def _continues(self, batch):
        """Whether the batch numbers all nodes so far as we do: the same source, read again."""
        known = np.asarray(self._given)
        return batch.n_nodes >= len(known) and np.array_equal(batch.ids[: len(known)], known)

    def _numbers(self, ids):
        if self._place is None:
            known = np.asarray(self._given).tolist()
            self._place = {name: number for number, name in enumerate(known)}
        numbers = [self._place.setdefault(name, len(self._place)) for name in ids.tolist()]
        return np.array(numbers, dtype=np.int32)
