"""METIS graph files, read and written: line v lists the neighbors of node v.

The first line is `n m [fmt [ncon]]`. The digits of fmt say whether each line begins with a size
(100) and with ncon node weights (010), both skipped, and whether each neighbor is followed by an
edge weight (001). Nodes are 1, ..., n; an empty line is an isolated node. Every edge is listed from
both its ends and kept once.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.sources.edge_source import BYTES_PER_NODE, Chunk, Opened
from graphsqueak.sources.files.adjacency import (
    SymmetryCheck,
    announced_nodes,
    header_line,
    numbers_from_one,
)
from graphsqueak.sources.files.fields import SMALLEST_DISTANCE, shorten
from graphsqueak.sources.files.numerals import NEWLINE, at, next_line, read_decimal, read_integer
from graphsqueak.sources.files.text import line_blocks
from graphsqueak.system.kernels import njit_cached
from graphsqueak.system.memory import check_fits

_PERCENT = ord("%")
_BLANKS = (ord(" "), ord("\t"), ord("\r"))


def read_metis(stream, options):
    """Read a METIS stream.

    Parameters
    ----------
    stream : ByteStream
    options : ReadOptions

    Returns
    -------
    Opened
    """
    header = _read_header(stream)
    # Every node has a line of its own.
    if header.n_nodes > stream.max_bytes:
        raise InputError(
            f"{stream.name} is too short for the {header.n_nodes} nodes of its header; the file "
            "is truncated or the header wrong"
        )
    are_distances = options.weights_are == "distance"
    if are_distances and not header.is_weighted:
        raise InputError(
            f"{stream.name} has no edge weights; leave ", Parameter("weights_are"), " out"
        )
    chunks = _chunks(stream, header, are_distances=are_distances)
    columns = ("node", "neighbor", "weight")[: 2 + header.is_weighted]
    return Opened("int64", header.is_weighted, chunks, columns)


def write_metis(file, edges, *, with_weights):
    """Write a METIS graph, parallel edges summed; its weights must be whole numbers.

    >>> import io
    >>> from graphsqueak.graph import EdgeList
    >>> file = io.BytesIO()
    >>> write_metis(file, EdgeList(tail=[0, 1], head=[1, 2]), with_weights=False)
    >>> print(file.getvalue().decode().strip())
    3 2
    2
    1 3
    2
    """
    number = numbers_from_one(edges)
    simple = edges.simplified()
    weight = simple.weight
    cannot_be_written = (weight != np.round(weight)) | (weight > 2**53)
    if with_weights and cannot_be_written.any():
        value = weight[np.argmax(cannot_be_written)]
        raise InputError(
            f"METIS files hold whole-numbered weights, not {value:g}; write .mtx, .tsv or .parquet"
        )
    file.write(f"{edges.n_nodes} {simple.n_edges}{' 001' * with_weights}\n".encode())
    # Each edge is listed from both its ends.
    ends = np.concatenate([number[simple.tail], number[simple.head]])
    others = np.concatenate([number[simple.head], number[simple.tail]])
    # By node, then by neighbor.
    order = np.lexsort((others, ends))
    words = others[order].astype(str)
    if with_weights:
        weights = np.concatenate([weight, weight])[order].astype(np.int64).astype(str)
        words = np.char.add(np.char.add(words, " "), weights)
    words = words.tolist()
    stops = np.cumsum(np.bincount(ends, minlength=edges.n_nodes + 1)).tolist()
    for start, stop in pairwise(stops):
        file.write((" ".join(words[start:stop]) + "\n").encode())


class _Header(NamedTuple):
    """The first line that is not a comment."""

    n_nodes: int
    n_edges: int
    # Numbers at the beginning of a line that are not neighbors: the size and weights of the node.
    n_skipped: int
    is_weighted: bool
    # Number of this line.
    line_number: int
    # Bytes up to its end.
    n_bytes: int


def _read_header(stream):
    line, number, n_bytes = header_line(stream)
    if not line:
        raise InputError(f"{stream.name} has no header line 'n m [fmt [ncon]]'; it is empty")
    origin = f"{stream.name}, line {number}"
    fields = line.split()
    if not 2 <= len(fields) <= 4 or not all(field.isdigit() for field in fields):
        words = line.decode("latin-1")
        raise InputError(f"{origin}: {words!r} is not a METIS header, 'n m [fmt [ncon]]'")
    # Leading zeros of fmt may be omitted.
    form = fields[2].zfill(3) if len(fields) > 2 else b"000"
    if len(form) > 3 or form.strip(b"01"):
        raise InputError(f"{origin}: fmt {fields[2].decode()!r} is not three digits 0 or 1")
    # In this order: 100 is a size, 010 are weights of nodes, 001 are weights of edges.
    has_size, has_node_weights, is_weighted = (digit == ord("1") for digit in form)
    n_constraints = int(fields[3]) if len(fields) > 3 else 1
    n_nodes = int(fields[0])
    check_fits(BYTES_PER_NODE * n_nodes, f"{origin}: a graph of {n_nodes} nodes")
    # A line is read as a whole. Each weight has a digit and a blank.
    check_fits(2 * n_constraints, f"{origin}: a line of {n_constraints} node weights")
    n_skipped = has_size + n_constraints * has_node_weights
    return _Header(n_nodes, int(fields[1]), n_skipped, is_weighted, number, n_bytes)


def _chunks(stream, header, *, are_distances):
    n_nodes = header.n_nodes
    is_weighted = header.is_weighted
    yield announced_nodes(n_nodes)
    check = SymmetryCheck()
    node = n_listed = 0
    line_number = header.line_number
    for text in line_blocks(stream, skip=header.n_bytes):
        # A neighbor takes at least a digit and a blank.
        ends = np.empty((text.size // 2 + 1, 2), dtype=np.int64)
        weight = np.ones(len(ends))
        n, node, bad, n_lines = _scan(
            text, node, n_nodes, header.n_skipped, is_weighted, ends, weight
        )
        line_number += n_lines
        if bad >= 0:
            shown = shorten(text[bad:].tobytes().partition(b"\n")[0])
            raise InputError(
                f"{stream.name}, line {line_number}: {shown!r} does not list "
                f"neighbors from 1 to {n_nodes}{' with their weights' * is_weighted} as the "
                "header says; correct one of them"
            )
        ends = ends[:n]
        weight = weight[:n]
        n_listed += n
        check.add(ends, weight)
        if are_distances:
            _refuse_zero_distance(stream.name, ends, weight)
            weight = 1 / weight
        # Each edge is listed from both its ends.
        is_first = ends[:, 0] <= ends[:, 1]
        yield Chunk(
            ends[is_first],
            weight[is_first] if is_weighted else None,
            fraction_read=stream.fraction_read,
        )
    if node != n_nodes:
        raise InputError(
            f"{stream.name} has lines for {node} nodes, its header says {n_nodes}; the file is "
            "truncated or the header wrong"
        )
    # Both ends list the edge.
    if n_listed != 2 * header.n_edges:
        raise InputError(
            f"{stream.name} lists {n_listed} neighbors, its header says 2 x {header.n_edges}; the "
            "file is truncated or the header wrong"
        )
    if not check.holds:
        raise InputError(
            f"{stream.name} does not list every edge from both its ends with the same weight; "
            "correct it"
        )


def _refuse_zero_distance(name, ends, distance):
    is_zero = distance < SMALLEST_DISTANCE
    if is_zero.any():
        node, neighbor = ends[int(np.argmax(is_zero))].tolist()
        raise InputError(
            f"{name}, the line of node {node}: the distance to {neighbor} is zero, and the weight "
            "of an edge is 1 / distance; merge the two nodes, or give the distance that is meant"
        )


@njit_cached
def _scan(block, node, n_nodes, n_skipped, is_weighted, ends, weight):
    """Scan a block of lines, after the line of `node`; fill `ends` and `weight`.

    Returns
    -------
    n : int
        Number of neighbors.
    node : int
        The last node.
    bad_start : int
        Start of the first bad line, -1 if there is none. The scan ends there.
    n_lines : int
    """
    i = n = n_lines = 0
    while i < block.size:
        line_start = i
        n_lines += 1
        i = _skip_blanks(block, i)
        # Empty lines after that of the last node do not count.
        if at(block, i) == _PERCENT or (at(block, i) == NEWLINE and node == n_nodes):
            i = next_line(block, i)
            continue
        if node == n_nodes:
            return n, node, line_start, n_lines
        node += 1
        n_fields = 0
        while at(block, i) != NEWLINE:
            number, i, good = read_integer(block, i, False, False)
            n_fields += 1
            if n_fields > n_skipped:
                good = good and 1 <= number <= n_nodes
                ends[n, 0] = node
                ends[n, 1] = number
                if is_weighted and good:
                    i = _skip_blanks(block, i)
                    weight[n], _, i, good = read_decimal(block, i)
                    # A weight that is left to a library is negative, and not supported here.
                    good = good and weight[n] >= 0
                n += 1
            field_stop = i
            i = _skip_blanks(block, i)
            if not good or (i == field_stop and at(block, i) != NEWLINE):
                return n, node, line_start, n_lines
        # An isolated node may have an empty line, but not half of its weights.
        if 0 < n_fields < n_skipped:
            return n, node, line_start, n_lines
        i += 1
    return n, node, -1, n_lines


@njit_cached
def _skip_blanks(block, i):
    while at(block, i) in _BLANKS:
        i += 1
    return i
