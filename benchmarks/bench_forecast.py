"""Forecasts beside what is measured: error and kappa of sparsifiers, told before they are made.

    python -m benchmarks.bench_forecast [--quick] [--json] [--only NAME]

The graphs are the dense ones of graphs.py and sparser ones: neighbors in the plane, a Delaunay
triangulation, a road network, random graphs with ten edges a node, even and uneven. At a tenth, a
fifth and a half of the edges, where these can hold the nodes together: the error that
`Forecast` expects, the one that a certificate measures (`found`), their ratio, and both kappas. A
forecast is good when the ratio lies between 0.75 and 1.33.
"""

import argparse
import json
import warnings

from benchmarks import graphs as shared
from benchmarks.bench_few_edges import delaunay
from benchmarks.real_data import add_data_option
from graphsqueak import certify, sources, sparsify
from graphsqueak.errors import AccuracyWarning
from graphsqueak.sparsifiers import Forecast

SEED = 137_035
SHARES = (0.1, 0.2, 0.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller graphs")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    add_data_option(parser)
    parser.add_argument("--only", action="append", help="a graph by its name; may be repeated")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", AccuracyWarning)
    rows = []
    for name, graph in graphs(quick=arguments.quick):
        if arguments.only and name not in arguments.only:
            continue
        for row in compare(graph):
            rows.append({"graph": name} | row)
            if not arguments.json:
                shown = "  ".join(f"{key} {value:.3g}" for key, value in row.items())
                print(f"{name:<20}{shown}", flush=True)
    if arguments.json:
        print(json.dumps({"benchmark": "forecast", "rows": rows}))


def graphs(*, quick):
    n = 300 if quick else 2000
    yield from shared.dense_graphs(n)
    yield "ten edges a node", sources.erdos_renyi(n, 10 * n, random_state=SEED).to_edge_list()
    yield "uneven, ten a node", sources.chung_lu(n, 10 * n, random_state=SEED).to_edge_list()
    yield "15 neighbors", sources.gaussian_neighbors(n, 15, random_state=SEED).to_edge_list()
    yield "small world", sources.small_world(n // 40, 40, 8 * n, random_state=SEED).to_edge_list()
    yield "Delaunay", delaunay(n)
    if not quick:
        yield from shared.load(["minnesota"])


def compare(graph):
    graph = graph.simplified()
    forecast = Forecast(graph)
    for share in SHARES:
        n_edges = int(share * graph.n_edges)
        if n_edges < 1.02 * forecast.n_forest:
            continue
        expected = forecast.expect(n_edges)
        made = sparsify(graph, n_edges=n_edges, random_state=SEED)
        found = certify(graph, made, random_state=SEED, max_iter=150)
        yield {
            "keep": share,
            "per_node": n_edges / graph.n_nodes,
            "expected": expected.epsilon,
            "found": found.epsilon_lower,
            "ratio": found.epsilon_lower / expected.epsilon,
            "kappa_expected": expected.kappa,
            "kappa_found": found.kappa_lower,
        }


if __name__ == "__main__":
    main()
