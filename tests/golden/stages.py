"""Results of every stage of the library on small inputs with fixed seeds.

A stage is a function that returns its result as named arrays. `test_golden` compares them with the
files `<stage>.npz` in this folder, so that a change of the code shows which stage changed first.
The stages of the streaming core are below; those of other packages are in `stages_<package>.py`.
Stages that return text (`stages_text.py`) are compared with `<stage>.json`. To record new results
on purpose:

    python -m tests.golden.stages [STAGE ...]
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import graphsqueak as gs
from graphsqueak.graph import EdgeList, TimedEdges
from graphsqueak.graph.forest import find_bridges
from graphsqueak.solvers import LaplacianSolver
from graphsqueak.sources import block_model, chung_lu, grid
from graphsqueak.sparsifiers import StreamOptions, StreamSparsifier, TimedSparsifier
from graphsqueak.sparsifiers.resistance.sketch import precise_embedding
from graphsqueak.sparsifiers.stream.arrival_filter import ArrivalFilter
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
from graphsqueak.sparsifiers.stream.priority_nodes import PriorityNodes
from graphsqueak.sparsifiers.stream.rescale import rescale_to_degrees
from graphsqueak.system.packing import unpack
from tests.golden import (
    stages_analysis,
    stages_kernel,
    stages_online,
    stages_outofcore,
    stages_sources,
    stages_ssl,
)
from tests.golden.stages_text import TEXT_STAGES

__all__ = ["FOLDER", "STAGES", "TEXT_STAGES", "run_stage"]

FOLDER = Path(__file__).parent
# Small enough that a stream of a few thousand edges passes through every step many times.
SHORT_CHUNKS = StreamOptions(chunk_size=256)
# The same with resistances from degrees, as for graphs of more than 4,096 nodes.
FROM_DEGREES = StreamOptions(chunk_size=256, degree_approx_min_nodes=100)
# The same with the in-place code, as for budgets of more than a million edges.
IN_PLACE = StreamOptions(chunk_size=256, degree_approx_min_nodes=100, inplace_min_edges=200)


def social():
    """Heavy-tailed degrees and real weights: 300 nodes, 6,000 edges."""
    edges = chung_lu(300, 6000, random_state=31).to_edge_list()
    weight = np.random.default_rng(32).exponential(size=edges.n_edges)
    return EdgeList(tail=edges.tail, head=edges.head, weight=weight, n_nodes=300)


def blocks():
    """Two communities with few edges between them: 240 nodes, 7,000 edges."""
    return block_model(240, 7000, n_blocks=2, within=0.99, random_state=41).to_edge_list()


def columns(edges):
    """The arrays of an edge list."""
    return {"tail": edges.tail, "head": edges.head, "weight": edges.weight}


def state_arrays(stream):
    """All arrays of the state of a stream."""
    _, arrays = unpack(stream.to_bytes(), "state")
    for name in ("0_priority_mask", "0_prefix_degrees"):
        if not arrays[name].any():
            del arrays[name]
    return {name.removeprefix("0_"): array for name, array in arrays.items()}


def arrival_filter():
    """Edges that pass the filter, and their new weights."""
    graph = social().simplified()
    sketch = precise_embedding(graph, n_probes=8, seed=7)
    known = ArrivalFilter.from_sketch(sketch, graph.components(), scale=2.0)
    no_forest = np.zeros(graph.n_edges, dtype=bool)
    edges = SampledEdges(graph.tail, graph.head, graph.weight, no_forest)
    kept = known.sample_edges(edges, 1000, seed=11, priority=PriorityNodes())
    # Simplified edges are sorted by their ends.
    index = np.searchsorted(300 * graph.tail + graph.head, 300 * kept.tail + kept.head)
    return {"index": index.astype(np.int32), "weight": kept.weight}


def resparsify():
    """The kept edges of a stream in which every resparsification solved for resistances."""
    stream = StreamSparsifier(n_edges=700, options=SHORT_CHUNKS, random_state=5)
    return state_arrays(stream.partial_fit(social()))


def resparsify_from_degrees():
    """The same with resistances from degrees."""
    stream = StreamSparsifier(n_edges=700, options=FROM_DEGREES, random_state=5)
    return state_arrays(stream.partial_fit(social()))


def resparsify_in_place():
    """The same with the code for many edges, which works in place."""
    stream = StreamSparsifier(n_edges=700, options=IN_PLACE, random_state=5)
    return state_arrays(stream.partial_fit(social()))


def priority_nodes():
    """The kept edges of a stream that oversamples the edges at some nodes."""
    stream = StreamSparsifier(
        n_edges=700, priority_nodes=range(20), options=SHORT_CHUNKS, random_state=5
    )
    return state_arrays(stream.partial_fit(social()))


def finalize():
    """Sparsifiers with a number of edges, a fraction of them and an error."""
    results = {}
    for name, budget in (
        ("n_edges", {"n_edges": 700}),
        ("tight", {"n_edges": 320}),
        ("keep", {"keep": 0.2}),
        ("epsilon", {"epsilon": 0.6}),
        ("ridge", {"n_edges": 700, "ridge": 0.5}),
    ):
        stream = StreamSparsifier(**budget, options=SHORT_CHUNKS, random_state=6)
        result = stream.partial_fit(social()).sparsifier()
        results |= {f"{name}_{key}": column for key, column in columns(result).items()}
    return results


def finalize_in_place():
    """A sparsifier made by the code for many edges."""
    stream = StreamSparsifier(n_edges=700, options=IN_PLACE, random_state=6)
    return columns(stream.partial_fit(social()).sparsifier(consume=True))


def rescale():
    """Weights after they were rescaled to given degrees, bridges excepted."""
    graph = grid(12, 12).to_edge_list()
    weight = np.random.default_rng(3).uniform(0.5, 2.0, size=graph.n_edges)
    tail = np.append(graph.tail, [0]).astype(np.int32)
    head = np.append(graph.head, [graph.n_nodes]).astype(np.int32)
    weight = np.append(weight, [5.0])
    in_forest = gs.graph.forest.union_edges(
        gs.graph.forest.make_sets(graph.n_nodes + 1), tail, head
    )
    bridge = find_bridges(tail, head, in_forest, graph.n_nodes + 1, seed=1)
    edges = SampledEdges(tail, head, weight, in_forest)
    degree = np.append(graph.degrees(), [5.0])
    degree[0] += 5.0
    rescale_to_degrees(edges, degree, bridge)
    return {"weight": weight, "bridge": bridge}


def merge():
    """The state and the sparsifier of three merged streams with different nodes."""
    streams = []
    for part in range(3):
        graph = social().part(2000 * part, 2000 * (part + 1))
        graph = EdgeList(
            tail=graph.tail,
            head=graph.head,
            weight=graph.weight,
            ids=np.roll(np.arange(300), 17 * part) + 5,
        )
        stream = StreamSparsifier(n_edges=700, options=SHORT_CHUNKS, random_state=part)
        streams.append(stream.partial_fit(graph))
    merged = streams[0].merge(*streams[1:])
    return state_arrays(merged) | columns(merged.sparsifier())


def checkpoint():
    """The sparsifier of a stream that was saved and loaded half-way."""
    graph = social()
    stream = StreamSparsifier(n_edges=700, options=SHORT_CHUNKS, random_state=8)
    stream.partial_fit(graph.part(0, 3100))
    stream = StreamSparsifier.from_bytes(stream.to_bytes())
    return columns(stream.partial_fit(graph.part(3100)).sparsifier())


def kelner_levin():
    """The chain of Algorithm 11 with few copies."""
    stream = StreamSparsifier(method="kelner-levin", n_copies=3, random_state=9)
    return columns(stream.partial_fit(blocks()).sparsifier())


def window():
    """Sparsifiers of a sliding window and of exponentially decayed weights."""
    graph = social()
    time = np.sort(np.random.default_rng(10).uniform(0, 100, size=graph.n_edges))
    edges = TimedEdges(tail=graph.tail, head=graph.head, weight=graph.weight, time=time)
    results = {}
    for name, forgetting in (("window", {"window": 40.0}), ("half_life", {"half_life": 9.0})):
        stream = TimedSparsifier(n_edges=400, options=SHORT_CHUNKS, random_state=2, **forgetting)
        result = stream.partial_fit(edges).sparsifier()
        results |= {f"{name}_{key}": column for key, column in columns(result).items()}
    return results


def tree():
    """The sparsifier of a merge tree over parts, and of one with a leader."""
    results = {}
    for shape in ("balanced", "guided"):
        result = gs.sparsify(
            social(), n_edges=700, tree=shape, n_parts=4, options=SHORT_CHUNKS, random_state=3
        )
        results |= {f"{shape}_{key}": column for key, column in columns(result).items()}
    return results


def subgraph():
    """A low-stretch forest with the best off-tree edges."""
    return columns(gs.sparsify(blocks(), n_edges=300, method="subgraph", random_state=4))


def certificate():
    """Bounds of a dense and of an iterative certificate, and the one with a ridge."""
    graph = social()
    result = gs.sparsify(graph, n_edges=1500, random_state=12)
    large = grid(60, 60).to_edge_list()
    large_result = gs.sparsify(large, n_edges=5000, random_state=12)
    found = {}
    for name, whole, part, ridge in (
        ("dense", graph, result, 0.0),
        ("ridge", graph, result, 1.0),
        ("iterative", large, large_result, 0.0),
    ):
        measured = gs.certify(whole, part, ridge=ridge, random_state=13)
        bounds = (measured.epsilon_lower, measured.epsilon_upper)
        extremes = (measured.lambda_min, measured.lambda_max)
        found[name] = np.array([*bounds, *extremes])
    return found


def solver_backends():
    """Solutions, and numbers of iterations, of every backend."""
    found = {}
    for name, graph in (("blocks", blocks()), ("grid", grid(40, 40).to_edge_list())):
        b = np.random.default_rng(14).normal(size=(graph.n_nodes, 3))
        b -= b.mean(axis=0)
        for backend in ("auto", "jacobi", "cholesky", "amg", "direct"):
            solver = LaplacianSolver(graph, solver=backend, random_state=15)
            found[f"{name}_{backend}"] = solver.solve(b)
            found[f"{name}_{backend}_iterations"] = np.array(solver.n_iter_)
    return found


STAGES = {
    stage.__name__: stage
    for stage in (
        arrival_filter,
        resparsify,
        resparsify_from_degrees,
        resparsify_in_place,
        priority_nodes,
        finalize,
        finalize_in_place,
        rescale,
        merge,
        checkpoint,
        kelner_levin,
        window,
        tree,
        subgraph,
        certificate,
        solver_backends,
    )
}


for module in (
    stages_sources,
    stages_outofcore,
    stages_ssl,
    stages_kernel,
    stages_online,
    stages_analysis,
):
    STAGES |= module.STAGES


def run_stage(name):
    """Run one stage; on small graphs warnings about accuracy or few labels are expected."""
    # Sums of BLAS depend on the number of threads, and threads that wait take processor time.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return (STAGES | TEXT_STAGES)[name]()


def record_stage(name):
    """Write the file of one stage."""
    result = run_stage(name)
    if name in TEXT_STAGES:
        text = json.dumps(result, indent=1, ensure_ascii=False)
        (FOLDER / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")
        return
    # Single precision is finer than the tolerance of the test, and takes half the space.
    compact = {
        key: array.astype(np.float32) if array.dtype == np.float64 else array
        for key, array in result.items()
    }
    np.savez_compressed(FOLDER / f"{name}.npz", **compact)


if __name__ == "__main__":
    for stage in sys.argv[1:] or [*STAGES, *TEXT_STAGES]:
        record_stage(stage)
