"""Compare sparsifiers with an equal number of edges: worst-case error and errors of quantities.

All values are medians over random seeds, and smaller is better.
"""

import statistics

import numpy as np
import scipy.linalg

import graphsqueak as gs
from benchmarks import graphs
from benchmarks.runner import OURS, Run, case
from graphsqueak import EdgeList, StreamOptions, StreamSparsifier, effective_resistance, sparsify
from graphsqueak.sampling import find_scale

N_SEEDS = 5
SHORT_NODES = 300
FULL_NODES = 2000
# Up to this size the error comes from all generalized eigenvalues; beyond, it is the lower end of a
# certificate with a gap of at most 2 %.
MAX_DENSE_NODES = 2500
# networkit builds its graph edge by edge in Python.
MAX_NETWORKIT_EDGES = 150_000
# Few edges per node are the hard case; the others show how the error decreases.
EDGES_PER_NODE = (8, 20, 40)
BUDGETED = ("Erdos-Renyi", "block model", "Gaussian 900-NN")
KEPT_FRACTIONS = {"facebook_combined": 0.2, "ca-GrQc": 0.5, "ca-AstroPh": 0.25}
ERRORS = {
    "resistances": "error of resistances",
    "PageRank": "error of PageRank",
    "eigenvalues": "error of eigenvalues",
    "random cuts": "error of random cuts",
}


@case(
    "quality",
    short=("Erdos-Renyi", "block model", "barbell", "lognormal weights", "Chung-Lu"),
    full=(*graphs.DENSE, *graphs.SOCIAL),
)
def error(run: Run, name: str) -> None:
    """Measure the worst-case error epsilon next to other samplers."""
    graph = _load(run, name)
    pencil = Pencil(graph)
    shuffled = np.random.default_rng(run.seed).permutation(graph.n_edges)
    stream = _permuted(graph, shuffled)
    simple = graph.simplified()
    for n_edges in _budgets(run, name, graph):
        methods = {OURS: lambda seed, n=n_edges: sparsify(stream, n_edges=n, random_state=seed)}
        methods |= _samplers(simple, n_edges) | networkit_sparsifiers(simple, n_edges)
        quantity = f"epsilon at {n_edges / graph.n_nodes:.3g} edges per node"
        _record_medians(run, quantity, methods, pencil)
        limit = 2 / np.sqrt(2 * n_edges / graph.n_nodes)
        run.record("limit 2 / sqrt(d) of dense graphs", quantity, limit, unit="")


@case("quality", short=("Erdos-Renyi", "Chung-Lu"), full=(*graphs.DENSE, *graphs.SOCIAL))
def parts(run: Run, name: str) -> None:
    """Measure the worst-case error without parts of the method, and with edges sorted by node."""
    graph = _load(run, name)
    pencil = Pencil(graph)
    rng = np.random.default_rng(run.seed)
    shuffled = _permuted(graph, rng.permutation(graph.n_edges))
    by_node = _permuted(graph, np.lexsort((graph.head, graph.tail)))
    no_rescaling = StreamOptions(rescale_to_degrees=False)
    independent = StreamOptions(dependent_rounding=False, rescale_to_degrees=False)
    for n_edges in _budgets(run, name, graph):

        def with_options(seed, edges=shuffled, options=None, n=n_edges):
            return sparsify(edges, n_edges=n, options=options, random_state=seed)

        methods = {
            OURS: with_options,
            "edges sorted by node": lambda seed: with_options(seed, by_node),
            "no rescaling to degrees": lambda seed: with_options(seed, options=no_rescaling),
            "independent sampling": lambda seed: with_options(seed, options=independent),
            "constants of the proofs": lambda seed, n=n_edges: _kelner_levin(shuffled, n, seed),
        }
        quantity = f"epsilon at {n_edges / graph.n_nodes:.3g} edges per node"
        _record_medians(run, quantity, methods, pencil)


@case("quality", short=("facebook_combined",), full=graphs.SOCIAL)
def quantities(run: Run, name: str) -> None:
    """Measure median relative errors of quantities of social graphs, next to other samplers.

    Communities of Leiden's method are compared by adjusted mutual information: 1 minus it.
    """
    graph = graphs.GRAPHS[name]().simplified()
    n_edges = int(KEPT_FRACTIONS[name] * graph.n_edges)
    methods = {OURS: lambda seed: sparsify(graph, n_edges=n_edges, random_state=seed)}
    methods["random edges"] = lambda seed: sparsify(
        graph, n_edges=n_edges, method="uniform", random_state=seed
    )
    methods |= networkit_sparsifiers(graph, n_edges)
    n_components = int(graph.components().max()) + 1
    for contender, make in methods.items():
        try:
            found = [_errors(graph, make(seed), n_components, seed) for seed in _seeds(run)]
        except ImportError as missing:
            run.left_out[contender] = f"{missing.name} is not installed"
            continue
        for quantity in found[0]:
            value = statistics.median(one[quantity] for one in found)
            unit = "" if quantity == "additional components" else "%"
            run.record(contender, quantity, value, unit=unit)


def _errors(graph, sparsifier, n_components, seed):
    comparison = gs.compare(graph, sparsifier, uniform=False, max_seconds=None, random_state=seed)
    medians = {name: median for name, median, *_ in comparison.rows()}
    errors = {shown: 100 * medians[name] for name, shown in ERRORS.items()}
    errors["disagreement of communities"] = 100 * (1 - comparison.agreement["sparsifier"])
    errors["additional components"] = int(sparsifier.components().max()) + 1 - n_components
    return errors


def _load(run, name):
    if name in graphs.DENSE:
        return graphs.DENSE[name](FULL_NODES if run.is_full else SHORT_NODES)
    return graphs.GRAPHS[name]()


def _seeds(run):
    return range(run.seed, run.seed + (N_SEEDS if run.is_full else 1))


def _permuted(graph, order):
    return EdgeList.from_validated(
        graph.tail[order], graph.head[order], graph.weight[order], graph.n_nodes
    )


def _budgets(run, name, graph):
    if name in BUDGETED and run.is_full:
        return [per_node * graph.n_nodes for per_node in EDGES_PER_NODE]
    return [min(8 * graph.n_nodes, graph.simplified().n_edges // 2)]


def _record_medians(run, quantity, methods, pencil):
    for contender, make in methods.items():
        try:
            errors = [pencil.epsilon(make(seed)) for seed in _seeds(run)]
        except ImportError as missing:
            note = f"{missing.name} is not installed"
            run.record(contender, quantity, None, unit="", note=note)
            continue
        run.record(contender, quantity, statistics.median(errors), unit="")


def _samplers(graph, n_edges):
    """Return samplers of a graph in memory, as functions of a seed."""
    leverage = graph.weight * effective_resistance(graph, rtol=0.01)
    equal = np.ones(graph.n_edges)

    def by_method(method):
        return lambda seed: sparsify(graph, n_edges=n_edges, method=method, random_state=seed)

    return {
        "Spielman-Srivastava": by_method("batch"),
        "KORS": by_method("kors"),
        "independent, exact resistances": lambda seed: _sampled(graph, leverage, n_edges, seed),
        "random edges": lambda seed: _sampled(graph, equal, n_edges, seed),
    }


def _sampled(graph, score, n_edges, seed):
    """Sample edges independently, with probabilities proportional to their scores and at most 1."""
    probability = np.minimum(find_scale(score, n_edges) * score, 1.0)
    is_kept = np.random.default_rng(seed).random(graph.n_edges) < probability
    weight = graph.weight[is_kept] / probability[is_kept]
    return EdgeList.from_validated(graph.tail[is_kept], graph.head[is_kept], weight, graph.n_nodes)


def _kelner_levin(edges, n_edges, seed):
    n_copies = max(n_edges // edges.n_nodes, 1)
    stream = StreamSparsifier(method="kelner-levin", n_copies=n_copies, random_state=seed)
    return stream.partial_fit(edges).sparsifier()


def networkit_sparsifiers(graph, n_edges):
    """Return the sparsifiers of networkit as functions of a seed.

    Their edges are reweighted by a common factor, so that the total weight is that of the graph.
    """
    if graph.n_edges > MAX_NETWORKIT_EDGES:
        return {}

    def make(name, *arguments):
        def sparsify_with_networkit(seed):
            import networkit as nk

            nk.setSeed(seed, False)
            method = getattr(nk.sparsification, f"{name}Sparsifier")(*arguments)
            converted = networkit_graph(graph)
            small = method.getSparsifiedGraphOfSize(converted, n_edges / graph.n_edges)
            return _rescaled(graph, np.array(list(small.iterEdges())))

        return sparsify_with_networkit

    return {
        "networkit local degree": make("LocalDegree"),
        "networkit local similarity": make("LocalSimilarity"),
        "networkit forest fire": make("ForestFire", 0.6, 5.0),
        "networkit random edge": make("RandomEdge"),
    }


def networkit_graph(graph: EdgeList):
    """Return an unweighted networkit graph with numbered edges."""
    import networkit as nk

    converted = nk.Graph(graph.n_nodes)
    for u, v in zip(graph.tail.tolist(), graph.head.tolist(), strict=True):
        converted.addEdge(u, v)
    converted.indexEdges()
    return converted


def _rescaled(graph, ends):
    weight = {}
    for u, v, w in zip(graph.tail.tolist(), graph.head.tolist(), graph.weight, strict=True):
        weight[u, v] = w
        weight[v, u] = w
    kept = np.array([weight[u, v] for u, v in ends.tolist()])
    kept *= graph.weight.sum() / kept.sum()
    return EdgeList.from_validated(ends[:, 0], ends[:, 1], kept, graph.n_nodes)


class Pencil:
    """Worst-case errors of sparsifiers of one graph, from the eigenvalues of (L_H, L_G)."""

    def __init__(self, graph: EdgeList):
        self._graph = graph
        self._component = graph.components()
        if graph.n_nodes > MAX_DENSE_NODES:
            return
        # The same multiple of the projection on the null space is added to both Laplacians, which
        # makes them invertible and adds eigenvalues of 1 only.
        is_same = self._component[:, None] == self._component
        self._fill = is_same * graph.degrees().mean() / graph.n_nodes
        self._factor = scipy.linalg.cholesky(graph.laplacian().toarray() + self._fill, lower=True)

    def epsilon(self, sparsifier: EdgeList) -> float:
        """Return the worst-case error, which is infinite if components differ."""
        if not np.array_equal(sparsifier.components(), self._component):
            return float("inf")
        if self._graph.n_nodes > MAX_DENSE_NODES:
            return gs.certify(self._graph, sparsifier, random_state=0).epsilon_lower
        matrix = sparsifier.laplacian().toarray() + self._fill
        half = scipy.linalg.solve_triangular(self._factor, matrix, lower=True)
        pencil = scipy.linalg.solve_triangular(self._factor, half.T, lower=True)
        values = scipy.linalg.eigvalsh(pencil)
        return float(max(1 - values[0], values[-1] - 1))
