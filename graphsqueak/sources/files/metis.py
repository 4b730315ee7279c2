"""METIS graph files, read and written: line v lists the neighbors of node v.

The first line is `n m [fmt [ncon]]`. The digits of fmt say whether each line begins with a size
(100) and with ncon node weights (010), both skipped, and whether each neighbor is followed by an
edge weight (001). Nodes are 1, ..., n; an empty line is an isolated node. Every edge is listed from
both its ends and kept once.
"""

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.sources.edge_source import BYTES_PER_NODE, Chunk, Opened
from graphsqueak.sources.files.adjacency import SymmetryCheck, numbers_from_one
from graphsqueak.sources.files.fields import SMALLEST_DISTANCE
from graphsqueak.sources.files.numerals import at, read_decimal, read_integer
from graphsqueak.sources.files.text import line_blocks
from graphsqueak.system.kernels import njit_cached
from graphsqueak.system.memory import check_fits

__all__ = ["read_metis", "write_metis"]

_MOST_CONSTRAINTS = 1000
_ROWS = 1 << 18  # lines written at a time


def read_metis(stream, options):
    """Read a METIS stream; see `read_text` for what is returned."""
    sample = stream.peek(1 << 20)
    offset = 0
    for number, line in enumerate(sample.split(b"\n"), start=1):
        offset += len(line) + 1
        if line.strip() and not line.lstrip().startswith(b"%"):
            header = _parse_header(line, f"{stream.name}, line {number}")
            if header[0] > stream.most_bytes:  # every node has a line of its own
                raise InputError(
                    f"{stream.name} is too short for the {header[0]} nodes of its header; the file "
                    "is truncated or the header wrong"
                )
            break
    else:
        raise InputError(f"{stream.name} has no header line 'n m [fmt [ncon]]'; it is empty")
    are_distances = options.weights_are == "distance"
    if are_distances and not header[3]:
        raise InputError(
            f"{stream.name} has no edge weights; leave ", Parameter("weights_are"), " out"
        )
    chunks = _chunks(stream, header, min(offset, len(sample)), number + 1, are_distances)
    columns = ("node", "neighbor", "weight")[: 2 + header[3]]
    return Opened("int64", header[3], chunks, columns)


def write_metis(file, edges, *, with_weights):
    """Write a METIS graph, parallel edges summed; its weights must be whole numbers."""
    number = numbers_from_one(edges)
    simple = edges.simplified()
    weight = simple.weight
    if with_weights and ((weight != np.round(weight)) | (weight > 2**53)).any():
        value = weight[np.argmax((weight != np.round(weight)) | (weight > 2**53))]
        raise InputError(
            f"METIS files hold whole-numbered weights, not {value:g}; write .mtx, .tsv or .parquet"
        )
    file.write(f"{edges.n_nodes} {simple.n_edges}{' 001' * with_weights}\n".encode())
    ends = np.concatenate([number[simple.tail], number[simple.head]])
    others = np.concatenate([number[simple.head], number[simple.tail]])
    order = np.lexsort((others, ends))
    words = others[order].astype(str)
    if with_weights:
        both = np.concatenate([weight, weight])[order].astype(np.int64).astype(str)
        words = np.char.add(np.char.add(words, " "), both)
    words = words.tolist()
    stops = np.cumsum(np.bincount(ends, minlength=edges.n_nodes + 1))
    for first in range(0, edges.n_nodes, _ROWS):
        last = min(first + _ROWS, edges.n_nodes)
        lines = (
            " ".join(words[stops[node] : stops[node + 1]]) + "\n" for node in range(first, last)
        )
        file.write("".join(lines).encode())


def _parse_header(line, origin):
    fields = line.split()
    words = line.decode("latin-1").strip()
    if not 2 <= len(fields) <= 4 or not all(field.isdigit() for field in fields):
        raise InputError(f"{origin}: {words!r} is not a METIS header, 'n m [fmt [ncon]]'")
    form = fields[2].zfill(3) if len(fields) > 2 else b"000"
    if len(form) > 3 or form.strip(b"01"):
        raise InputError(f"{origin}: fmt {fields[2].decode()!r} is not three digits 0 or 1")
    n_constraints = int(fields[3]) if len(fields) > 3 else 1
    if n_constraints > _MOST_CONSTRAINTS:
        raise InputError(f"{origin}: {n_constraints} weights for every node cannot be meant")
    n_nodes = int(fields[0])
    check_fits(BYTES_PER_NODE * n_nodes, f"{origin}: a graph of {n_nodes} nodes")
    n_skipped = (form[0] == ord("1")) + n_constraints * (form[1] == ord("1"))
    return n_nodes, int(fields[1]), n_skipped, form[2] == ord("1")


def _chunks(stream, header, start, line_number, are_distances):
    n_nodes, n_edges, n_skipped, is_weighted = header
    yield Chunk(
        np.zeros((0, 2), np.int64),
        np.zeros(0) if is_weighted else None,
        nodes=np.arange(1, n_nodes + 1),
    )
    check = SymmetryCheck()
    node = n_listed = 0
    for text in line_blocks(stream, skip=start):
        ends = np.empty((text.size // 2 + 1, 2), dtype=np.int64)
        weight = np.ones(len(ends))
        n, node, bad, n_lines = _scan(text, node, n_nodes, n_skipped, is_weighted, ends, weight)
        if bad >= 0:
            line = text[bad:].tobytes().partition(b"\n")[0].decode("utf-8", "replace")
            shown = line if len(line) <= 60 else line[:60] + "..."
            raise InputError(
                f"{stream.name}, line {line_number + n_lines - 1}: {shown!r} does not list "
                f"neighbors from 1 to {n_nodes}{' with their weights' * is_weighted} as the "
                "header says; correct one of them"
            )
        line_number += n_lines
        n_listed += n
        check.add(ends[:n], weight[:n])
        if are_distances:
            _refuse_zero_distance(stream.name, ends[:n], weight[:n])
            weight[:n] = 1 / weight[:n]
        once = ends[:n, 0] <= ends[:n, 1]
        yield Chunk(
            ends[:n][once],
            weight[:n][once] if is_weighted else None,
            fraction_read=stream.fraction_read,
        )
    if node != n_nodes:
        raise InputError(
            f"{stream.name} has lines for {node} nodes, its header says {n_nodes}; the file is "
            "truncated or the header wrong"
        )
    if n_listed != 2 * n_edges:
        raise InputError(
            f"{stream.name} lists {n_listed} neighbors, its header says 2 x {n_edges}; the file "
            "is truncated or the header wrong"
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
    """Fill `ends` and `weight`; returns their number, the last node, a bad line's start, lines."""
    i = n = n_lines = 0
    while i < block.size:
        line_start = i
        n_lines += 1
        i = _skip_blanks(block, i)
        if at(block, i) == 37 or (at(block, i) == 10 and node == n_nodes):
            while at(block, i) != 10:
                i += 1
            i += 1
            continue
        if node == n_nodes:
            return n, node, line_start, n_lines
        node += 1
        n_fields = 0
        while at(block, i) != 10:
            number, i, good = read_integer(block, i, False, False)
            n_fields += 1
            if n_fields > n_skipped:
                good = good and 1 <= number <= n_nodes
                ends[n, 0], ends[n, 1] = node, number
                if is_weighted and good:
                    i = _skip_blanks(block, i)
                    weight[n], _, i, good = read_decimal(block, i)
                    good = good and weight[n] >= 0
                n += 1
            ended = at(block, i)
            if not good or (ended != 32 and ended != 9 and ended != 10 and ended != 13):
                return n, node, line_start, n_lines
            i = _skip_blanks(block, i)
        if 0 < n_fields < n_skipped:
            return n, node, line_start, n_lines
        i += 1
    return n, node, -1, n_lines


@njit_cached
def _skip_blanks(block, i):
    while at(block, i) == 32 or at(block, i) == 9 or at(block, i) == 13:
        i += 1
    return i
