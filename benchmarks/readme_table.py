"""Compare a sparsifier with random edges on a SNAP graph: the table of README.md.

    python benchmarks/readme_table.py [--data FOLDER] [--keep FRACTION] [--seeds N]

The graph is facebook_combined (4,039 nodes, 88,234 edges), unpacked as
FOLDER/facebook_combined/facebook_combined.txt. For each seed, graphsqueak keeps the
given fraction of the edges, and as many random edges are drawn and reweighted by a common factor.
An error is the median relative error of a quantity over 100 random cuts, 100 random pairs of
nodes, all nodes (PageRank) or the 20 smallest positive eigenvalues. Communities are found by
Leiden's method and compared with those of the graph by adjusted mutual information. All figures
are medians over the seeds. Takes about 70 s of processor time.
"""

import argparse
import statistics

import numpy as np
from real_data import add_data_option, data_file

import graphsqueak as gs

# Rows of `gs.compare` and what they are called in the table.
ERRORS = {
    "resistances": "effective resistances",
    "PageRank": "PageRank",
    "eigenvalues": "20 smallest eigenvalues",
    "random cuts": "random cuts",
}


def main():
    """Print the table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data_option(parser)
    parser.add_argument("--keep", type=float, default=0.2, metavar="FRACTION")
    parser.add_argument("--seeds", type=int, default=5, metavar="N")
    arguments = parser.parse_args()

    graph = read_facebook()
    ours = []
    random = []
    self_agreement = []
    for seed in range(arguments.seeds):
        sparsifier = gs.sparsify(graph, keep=arguments.keep, random_state=seed)
        baseline = gs.sparsify(
            graph, n_edges=sparsifier.n_edges, method="uniform", random_state=seed
        )
        # `compare` also draws random edges. Here they are a graph like the sparsifier, so that
        # both columns are measured in the same way, on the same cuts and pairs.
        ours.append(measure(graph, sparsifier, seed))
        random.append(measure(graph, baseline, seed))
        self_agreement.append(ours[-1]["graph against itself"])

    agreement = statistics.median(self_agreement)
    print(f"| {arguments.keep:.0%} of {graph.n_edges:,} edges | graphsqueak | random edges |")
    print("| --- | --- | --- |")
    print_row("components (graph: 1)", "components", ours, random, format_count)
    for quantity in ("resistances", "PageRank", "eigenvalues"):
        print_row(ERRORS[quantity], quantity, ours, random, format_error)
    communities = f"communities, agreement (graph with itself: {agreement:.2f})"
    print_row(communities, "communities", ours, random, format_agreement)
    print_row(ERRORS["random cuts"], "random cuts", ours, random, format_error)


def read_facebook():
    """Return the graph of SNAP's facebook_combined.txt."""
    path = data_file("facebook_combined", "facebook_combined.txt")
    # Some copies have a first line with the numbers of nodes and edges.
    n_header_lines = int(path.read_text().partition("\n")[0].split() == ["4039", "88234"])
    pairs = np.loadtxt(path, dtype=np.int64, skiprows=n_header_lines)
    return gs.EdgeList(tail=pairs[:, 0], head=pairs[:, 1]).simplified()


def measure(graph, sparse, seed):
    """Return the median errors of a sparse graph, its components and its communities."""
    comparison = gs.compare(graph, sparse, uniform=False, max_seconds=None, random_state=seed)
    errors = {name: median for name, median, *_ in comparison.rows()}
    return {
        **{name: errors[name] for name in ERRORS},
        "components": int(sparse.components().max()) + 1,
        "communities": comparison.agreement["sparsifier"],
        "graph against itself": comparison.agreement["graph"],
    }


def print_row(name, key, ours, random, format_number):
    """Print a row with the medians over the seeds."""
    columns = [statistics.median(one[key] for one in results) for results in (ours, random)]
    shown = " | ".join(format_number(number) for number in columns)
    print(f"| {name} | {shown} |")


def format_count(number):
    return f"{number:,.0f}"


def format_error(error):
    if not np.isfinite(error):
        return "infinite"
    n_decimals = 0 if error >= 0.1 else 1
    return f"{100 * error:.{n_decimals}f} %"


def format_agreement(agreement):
    return f"{agreement:.2f}"


if __name__ == "__main__":
    main()
