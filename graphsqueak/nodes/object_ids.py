"""Number ids of any hashable kind 0, 1, 2, ... in order of first appearance."""

import numpy as np

__all__ = ["ObjectIds"]


class ObjectIds:
    """A growing map from hashable objects to node numbers.

    Examples
    --------
    >>> ids = ObjectIds()
    >>> ids.number(["ann", 7, "ann"])
    array([0, 1, 0])
    >>> np.asarray(ids)
    array(['ann', 7], dtype=object)
    """

    def __init__(self):
        self._node = {}

    def number(self, names):
        """Node numbers of a list of ids; new ids are added."""
        node = self._node
        return np.array([node.setdefault(name, len(node)) for name in names], dtype=np.int64)

    def __len__(self):
        return len(self._node)

    def __array__(self, dtype=None, copy=None):
        ids = np.empty(len(self._node), dtype=object)
        ids[:] = list(self._node)
        return ids
