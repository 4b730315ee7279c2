"""certify(): how good a sparsifier is, measured on the whole graph.

H is an eps-sparsifier of G when every ratio x' L_H x / x' L_G x lies in [1 - eps, 1 + eps]. The
extreme ratios are eigenvalues of a pencil. If the graph is small, all of them are computed by dense
linear algebra (`dense_pencil`), and the two bounds differ by rounding only. Otherwise both ends are
bounded from inside and from outside by block Lanczos; the edges are read once per step, or kept if
they take no more than 640 MiB. A sparsifier has the components of its graph; if it has not, no
accuracy is left to measure.

*Turning round.* How much too light H is, the highest of the ratios mu of G to H, stands out and is
soon known. Then only the lowest is wanted, and Lanczos on L_H^+ L_G is slow to find it below a long
range of others. It is the highest of L_G^+ L_H: steps are fewer by the root of the largest mu over
the smallest, but each solves with G, which must be held.
"""

import time

import numpy as np
from threadpoolctl import threadpool_limits

from graphsqueak.errors import InputError
from graphsqueak.randomness import RandomState
from graphsqueak.solvers.matrix import build_rows, multiply, rows_of_batches
from graphsqueak.sources.graph_like import GraphLike, as_edge_list, as_stream
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian
from graphsqueak.sparsifiers.certificate.block_lanczos import BlockLanczos
from graphsqueak.sparsifiers.certificate.certificate import Certificate, component_problem
from graphsqueak.sparsifiers.certificate.dense_pencil import dense_ratios
from graphsqueak.sparsifiers.certificate.forest_norm import ForestNorm
from graphsqueak.sparsifiers.certificate.outer_bounds import (
    FAR_APART,
    KAPPA_LOOSE,
    OuterBounds,
    Stop,
    least_columns,
    n_columns_for,
)
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.validation import check_choice, check_count, check_real

__all__ = ["certify"]

_DENSE_NODES = 2000
_MOST_STEPS = 500
_ROUNDING = 1e-9  # of a ratio that was found
_MOST_BYTES = 5 * 2**27  # of the edges of a graph that may be kept between products
_MOST_HELD = 2**22  # edges of a graph that may be solved with
_SOLVING, _STEPPING, _READING = 100, 180, 100  # nanoseconds for an edge, of G, of H, and of G
_KNOWN = 1.07  # the lowest ratio, before the highest one is looked for with G


def certify(
    graph: GraphLike,
    sparsifier: GraphLike,
    *,
    delta: float = 0.01,
    steps: int | None = None,
    rtol: float = 0.02,
    ridge: float = 0.0,
    goal: float | None = None,
    method: str = "auto",
    random_state: RandomState = None,
    progress: Progress = False,
) -> Certificate:
    """Measure the accuracy of `sparsifier` against all of `graph`.

    Parameters
    ----------
    graph : EdgeSource, EdgeList, scipy sparse adjacency or networkx graph
        Read once, and kept, if its edges take no more than 640 MiB; else once per step, so it must
        be readable again.
    sparsifier : EdgeList or any graph
        Its nodes are matched with those of `graph` by id.
    delta : float
        The upper bound may fail with this probability, over the certificate's own random start.
    steps : int, optional
        Most Lanczos steps, a product with all edges each. Default: 500; most graphs need 20 to 150.
    rtol : float
        Stop when the upper bound is within this share of the lower one (and kappa, where it is 9 or
        more, within a tenth).
    ridge : float
        gamma of an (eps, gamma)-sparsifier: both Laplacians get gamma added to their diagonal.
    goal : float, optional
        Stop, too, as soon as epsilon is known to be below `goal`, or well above it.
    method : {"auto", "dense", "lanczos"}
        "auto" is dense, and exact, up to 2000 nodes.
    random_state : int, Generator or None
    progress : bool or callable

    Returns
    -------
    Certificate

    Examples
    --------
    One edge of a triangle is halved. The worst x is (1, -1, 0): 4/2 + 1 + 1 instead of 4 + 1 + 1.

    >>> from graphsqueak.graph import EdgeList
    >>> triangle = EdgeList(tail=[0, 1, 2], head=[1, 2, 0])
    >>> halved = EdgeList(tail=[0, 1, 2], head=[1, 2, 0], weight=[0.5, 1.0, 1.0])
    >>> certificate = certify(triangle, halved)
    >>> print(certificate)
    epsilon 0.3333, exact
    >>> certificate.minimizing_pair
    (0, 1)
    """
    began = time.perf_counter()
    check_real("delta", delta, above=0.0, below=1.0)
    check_real("rtol", rtol, above=0.0, below=np.inf)
    ridge = check_real("ridge", ridge, least=0.0, below=np.inf)
    steps = _MOST_STEPS if steps is None else check_count("steps", steps)
    check_choice("method", method, ("auto", "dense", "lanczos"))
    source, sparsifier = as_stream(graph), as_edge_list(sparsifier)
    if not getattr(source, "is_rereadable", True):
        raise InputError("a certificate reads the graph several times; a pipe can be read once")
    laplacian = StreamedLaplacian(source, sparsifier)
    is_small = sparsifier.n_nodes <= _DENSE_NODES
    stop = Stop(steps, rtol, goal)
    # threads of the linear algebra library only get in the way: the matrices are small
    with reporter(progress, "measuring the error") as report, threadpool_limits(1, user_api="blas"):
        if method == "dense" or (method == "auto" and is_small):
            found = _exact(laplacian, sparsifier, ridge, stop, report)
        else:
            rng = np.random.default_rng(random_state)
            found = _lanczos(laplacian, sparsifier, ridge, delta, stop, rng, report)
    found |= {"ridge": ridge, "passes": laplacian.n_passes}
    return Certificate(**found, seconds=time.perf_counter() - began)


def _exact(laplacian, sparsifier, ridge, stop, report):
    """The fields of a certificate from all ratios, each within the error of rounding."""
    whole = laplacian.to_dense(report)
    if problem := component_problem(laplacian.component, sparsifier, ridge):
        return problem
    ratios = dense_ratios(whole, sparsifier.laplacian().toarray(), ridge)
    if ratios.values.size == 0:
        return _interval(1.0, 1.0) | {"delta": 0.0}
    least, most = ratios.values[[0, -1]]
    inner = least + ratios.error, most - ratios.error
    outer = max(least - ratios.error, 0.0), most + ratios.error
    found = _interval(*outer) | {
        "epsilon_lower": float(max(1 - inner[0], inner[1] - 1, 0.0)),
        "kappa_lower": float(max(_quotient(*inner), 1.0)),
        "delta": 0.0,
        "ratios": ratios.values,
        "shares": np.full(ratios.values.size, 1 / ratios.values.size),
    }
    if np.isfinite(ratios.error):
        found["minimizing_pair"] = _ends(ratios.lowest, sparsifier)
        found["maximizing_pair"] = _hottest(ratios.highest, sparsifier)
    if not stop.is_close(found["epsilon_lower"], found["epsilon_upper"]):
        found["unresolved"] = f"rounding may have moved every ratio by up to {ratios.error:.2g}"
    return found


def _lanczos(laplacian, sparsifier, ridge, delta, stop, rng, report):
    if not sparsifier.n_edges and ridge == 0:
        return _exact(laplacian, sparsifier, ridge, stop, report)
    history = []

    def tell(n_edges, share):
        n_before = max(laplacian.n_passes, len(history)) * (laplacian.n_edges or 0)
        note = "error {:.3g} to {:.3g}".format(*history[-1]) if history else ""
        report(n_before + n_edges, stop.share_done(history, share), note)

    times_graph, is_held = _product(laplacian, sparsifier.n_nodes, tell)
    if difference := component_problem(laplacian.component, sparsifier, ridge):
        return difference
    forest_norm = ForestNorm(sparsifier, ridge)
    if forest_norm.rounding >= 1:
        return _interval(0.0, np.inf) | {
            "epsilon_lower": 0.0,
            "delta": delta,
            "unresolved": FAR_APART,
        }
    run = BlockLanczos(
        sparsifier,
        ridge=ridge,
        n_columns=max(
            n_columns_for(sparsifier, laplacian.n_edges, is_held=is_held),
            least_columns(sparsifier.n_nodes, delta, forest_norm.rounding),
        ),
        forest_norm=forest_norm,
        random_state=rng,
    )
    bounds, places = OuterBounds(run, delta=delta), {}
    while True:
        run.step(times_graph(run.newest))
        bounds.update(now=len(history) + 1 >= stop.steps)
        inner = np.array(_errors(*run.ritz)) * (1 - _ROUNDING)
        outer = _errors(bounds.low, bounds.high)
        history.append((float(max(*inner, 0.0)), float(max(*outer, 0.0))))
        kappa = _quotient(*run.ritz), _quotient(bounds.low, bounds.high)
        if stop.reached(history, kappa) or run.newest.shape[1] == 0:
            break
        if bounds.is_limited and stop.has_settled(history):
            break
        for end in (0, 1):
            if outer[end] <= inner[1 - end] and kappa[1] < KAPPA_LOOSE and end not in places:
                places[end] = _PLACES[end](run.ritz_vector(end), sparsifier)
                run.ignore_end(end)
        may_turn = stop.is_close(max(inner), outer[1]) and bounds.high <= _KNOWN * run.ritz[1]
        if may_turn and _turning_pays(run.ritz, laplacian.n_edges, sparsifier, is_held):
            graphs, light = (laplacian.to_edge_list(tell), sparsifier), (inner[1], outer[1])
            heavy = _bound_inverse_pencil(*graphs, ridge, delta, stop, rng, history, light, tell)
            minimizing_pair = places.get(1) or _ends(run.ritz_vector(1), sparsifier)
            heavy["kappa_lower"] *= float(run.ritz[1])
            return {
                "lambda_min": float(1 / bounds.high),
                "minimizing_pair": minimizing_pair,
            } | heavy
    for end in {0, 1} - set(places):
        places[end] = _PLACES[end](run.ritz_vector(end), sparsifier)
    return _interval(1 / bounds.high, 1 / bounds.low if bounds.low > 0 else np.inf) | {
        "epsilon_lower": history[-1][0],
        "kappa_lower": float(kappa[0]),
        "delta": delta,
        "steps": len(history),
        "minimizing_pair": places[1],
        "maximizing_pair": places[0],
        "unresolved": stop.what_is_open(history, inner, outer, is_limited=bounds.is_limited),
        "history": history,
        "ratios": 1 / bounds.values[::-1],
        "shares": bounds.shares[::-1],
    }


def _product(laplacian, n_nodes, tell):
    """A function that multiplies by L_G, and whether it does so without reading.

    The first pass, here, finds the components of G. It keeps the edges, too, unless they take too
    much room: then every product is another pass.
    """
    if laplacian.is_implicit:
        rows = None
        laplacian.multiply(np.zeros((n_nodes, 1)), tell)
    else:
        rows = rows_of_batches(laplacian.edges(tell), n_nodes, _MOST_BYTES)
    if rows is None:
        return (lambda block: laplacian.multiply(block, tell)), laplacian.is_held

    def times_graph(block):
        product = np.empty_like(block)
        multiply(rows, block, product)
        tell(laplacian.n_edges, 1.0)
        return product

    return times_graph, True


def _turning_pays(ritz, n_edges, sparsifier, is_held):
    """Whether fewer steps that solve with G cost less; a model without a clock."""
    reading = 8 + (0 if is_held else _READING)
    a_step = _STEPPING * sparsifier.n_edges + reading * n_edges
    turned = 2 * _SOLVING * n_edges  # twice: it begins anew
    return n_edges <= _MOST_HELD and turned <= np.sqrt(ritz[1] / ritz[0]) * a_step


def _bound_inverse_pencil(graph, sparsifier, ridge, delta, stop, rng, history, light, tell):
    """The highest ratio of H to G, given what is known of the lowest, as errors: `light`.

    That one is known well enough for kappa; `kappa_lower` is to be divided by it.

    The bound on `light` fails with probability delta / 2, and so does the one that is found here.
    """
    forest_norm = ForestNorm(graph, ridge)
    run = BlockLanczos(
        graph,
        ridge=ridge,
        n_columns=least_columns(graph.n_nodes, delta, forest_norm.rounding),
        forest_norm=forest_norm,
        random_state=rng,
    )
    run.ignore_end(0)
    bounds, rows = OuterBounds(run, delta=delta), build_rows(sparsifier, np.zeros(graph.n_nodes))
    while True:
        product = np.empty_like(run.newest)
        multiply(rows, run.newest, product)
        run.step(product)
        bounds.update(now=len(history) + 1 >= stop.steps)
        heavy = float(run.ritz[1] - 1) * (1 - _ROUNDING), float(bounds.high - 1)
        history.append((max(history[-1][0], heavy[0]), max(light[1], heavy[1])))
        if stop.reached(history, (1.0, 1.0)) or run.newest.shape[1] == 0:
            break
        tell(0, 1.0)
    return {
        "epsilon_lower": history[-1][0],
        "epsilon_upper": history[-1][1],
        "lambda_max": float(bounds.high),
        "kappa_lower": float(run.ritz[1]),
        "delta": delta,
        "steps": len(history),
        "maximizing_pair": _hottest(run.ritz_vector(1), sparsifier),
        "unresolved": stop.what_is_open(history, *zip(heavy, light, strict=True)),
        "history": history,
        "ratios": bounds.values,
        "shares": bounds.shares,
    }


def _quotient(lowest, highest):
    return highest / lowest if lowest > 0 else np.inf


def _errors(lowest, highest):
    """How much too heavy and how much too light H is, from the extreme ratios of G to H."""
    return (1 / lowest - 1 if lowest > 0 else np.inf), (1 - 1 / highest if highest > 0 else 0.0)


def _interval(least, most):
    epsilon = max(1 - least, most - 1, 0.0)
    return {
        "epsilon_lower": float(epsilon),
        "epsilon_upper": float(epsilon),
        "lambda_min": float(least),
        "lambda_max": float(most),
        "kappa_lower": float(_quotient(least, most)),
    }


def _ends(x, graph):
    """Ids of the nodes at which x is largest and smallest: an edge between them is missing most."""
    return _named(int(np.argmax(x)), int(np.argmin(x)), graph)


def _hottest(x, graph):
    """Ids of the ends of the edge that holds most of x' L x."""
    energy = graph.weight * (x[graph.tail] - x[graph.head]) ** 2
    edge = int(np.argmax(energy))
    return _named(int(graph.tail[edge]), int(graph.head[edge]), graph)


_PLACES = (_hottest, _ends)  # where H is too heavy, and where it is too light


def _named(u, v, graph):
    u, v = sorted((u, v))
    return graph.ids[u : u + 1].tolist()[0], graph.ids[v : v + 1].tolist()[0]
