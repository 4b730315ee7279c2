"""Predictions for some nodes of the graph, and for nodes that were not in it at the fit.

A new node x with edges of weight w_xj to known nodes j gets the harmonic extension of their values,

    f_x = sum_j w_xj f_j / sum_j w_xj,

over the neighbors j that lie in a component with a label. It is exact if x has no influence on the
other nodes, and takes no solve.
"""

import os
from collections.abc import Iterable, Iterator

import numpy as np
import scipy.sparse

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.id_arrays import as_object_array
from graphsqueak.nodes.numbering import make_node_finder
from graphsqueak.sources.edge_source import EdgeSource

__all__ = ["extend_to_new_nodes", "find_nodes", "read_links"]


def find_nodes(X, nodes):
    """Return the numbers of nodes that are listed by id, or None if X describes new nodes.

    Parameters
    ----------
    X : list or array of ids, or links as in `read_links`
    nodes : EdgeList
        Its nodes are the known ones; its edges are not used.

    Examples
    --------
    >>> from graphsqueak.graph import EdgeList
    >>> path = EdgeList.from_pairs([("ann", "bob"), ("bob", "cy")])
    >>> find_nodes(["cy", "ann"], path)
    array([2, 0])
    >>> find_nodes([("dan", "cy")], path) is None
    True
    """
    if isinstance(X, EdgeList | EdgeSource | os.PathLike):
        raise InputError(
            "predict takes node ids, not a graph: call predict() for all nodes of the graph that "
            "the model was fitted to, or predict([id, ...]) for some of them"
        )
    if isinstance(X, str) or not isinstance(X, Iterable):
        raise InputError(f"predict takes a list of node ids: call predict([{X!r}])")
    is_matrix = scipy.sparse.issparse(X) or (isinstance(X, np.ndarray) and X.ndim != 1)
    # An iterator can be read once, and yields links.
    if is_matrix or isinstance(X, Iterator):
        return None
    names = X.tolist() if isinstance(X, np.ndarray) else list(X)
    if any(isinstance(name, tuple | list) for name in names):
        return None
    numbers = make_node_finder(nodes.ids.astype(object), nodes.n_nodes)(as_object_array(names))
    if (numbers < 0).any():
        absent = names[int(np.argmin(numbers))]
        raise InputError(
            f"node {absent!r} is not in the graph (see ids_); for a new node pass its edges: "
            f"predict([({absent!r}, known id, weight), ...])"
        )
    return numbers


def read_links(links, nodes):
    """Return the weights between new nodes (rows) and the nodes of a graph (columns).

    Parameters
    ----------
    links : array or sparse matrix (n_new, n_nodes), or triples (new node, known id, weight)
        The weight of a triple is optional, 1 by default.
    nodes : EdgeList
        Its nodes are the known ones; its edges are not used.

    Examples
    --------
    >>> from graphsqueak.graph import EdgeList
    >>> path = EdgeList.from_pairs([("ann", "bob"), ("bob", "cy")])
    >>> read_links([("dan", "cy"), ("dan", "ann", 2.0)], path).toarray()
    array([[2., 0., 1.]])
    """
    if scipy.sparse.issparse(links) or isinstance(links, np.ndarray):
        links = _check_matrix(links, nodes)
    else:
        links = _matrix_of_triples(links, nodes)
    if links.nnz and not (links.data >= 0).all():
        raise InputError("links to new nodes are similarities; remove negative weights")
    return links


def extend_to_new_nodes(links, values, has_label):
    """Return the harmonic extension of `values` (n_nodes, C), and which new nodes have one.

    Parameters
    ----------
    links : sparse array, shape (n_new, n_nodes)
    values : array, shape (n_nodes, C)
    has_label : array of bool, shape (n_nodes,)
        Which known nodes count as neighbors.

    Examples
    --------
    >>> links = scipy.sparse.csr_array([[1.0, 3.0, 0.0], [0.0, 0.0, 1.0]])
    >>> values = np.array([[4.0], [8.0], [0.0]])
    >>> extend_to_new_nodes(links, values, np.array([True, True, False]))
    (array([[7.],
           [0.]]), array([ True, False]))
    """
    # Neighbors without a value do not count.
    links = links @ scipy.sparse.diags_array(has_label.astype(np.float64))
    total = np.asarray(links.sum(axis=1)).ravel()
    mean = (links @ values) / np.where(total > 0, total, 1.0)[:, None]
    return mean, total > 0


def _check_matrix(links, nodes):
    if links.ndim != 2:
        raise _unusable_links()
    if not nodes.has_explicit_order:
        raise InputError(
            f"the columns of links do not say which nodes of the graph (one is "
            f"{nodes.ids[:1].tolist()[0]!r}) they are about; pass triples "
            "(new node, known id, weight)"
        )
    if links.shape[1] != nodes.n_nodes:
        raise InputError(f"links have {links.shape[1]} columns for {nodes.n_nodes} nodes")
    return scipy.sparse.csr_array(links).astype(np.float64)


def _matrix_of_triples(triples, nodes):
    triples = list(triples)
    if not all(isinstance(row, tuple | list) and len(row) in (2, 3) for row in triples):
        raise _unusable_links()
    # Ids may be tuples: an array of objects does not take them apart.
    known = as_object_array([row[1] for row in triples])
    columns = make_node_finder(nodes.ids.astype(object), nodes.n_nodes)(known)
    if (columns < 0).any():
        absent = known[int(np.argmin(columns))]
        raise InputError(f"a new node is joined to {absent!r}, which is not in the graph")
    # New nodes are numbered in the order in which they appear.
    row_of_new: dict = {}
    rows = [row_of_new.setdefault(row[0], len(row_of_new)) for row in triples]
    weights = [float(row[2]) if len(row) == 3 else 1.0 for row in triples]
    shape = (len(row_of_new), nodes.n_nodes)
    return scipy.sparse.coo_array((weights, (rows, columns)), shape=shape).tocsr()


def _unusable_links():
    return InputError(
        "new nodes are described by a matrix of weights, a row per new and a column per known "
        "node, or by triples (new node, known id, weight); for nodes of the graph itself pass "
        "a list of their ids"
    )
