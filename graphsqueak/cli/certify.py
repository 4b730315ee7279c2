"""graphsqueak certify: the error of a sparsifier, measured on the whole edge file."""

from typing import Annotated

import typer

from graphsqueak.cli.groups import Printing, Seed, with_option_groups
from graphsqueak.cli.help_pages import ADVANCED
from graphsqueak.cli.output import print_json, print_line
from graphsqueak.cli.reading import Edges, Reading, report_schema


@with_option_groups
def certify(
    edges: Edges,
    sparsifier: Annotated[
        str, typer.Argument(metavar="SPARSIFIER", help="Edge file of the sparsifier.")
    ],
    delta: Annotated[
        float,
        typer.Option(metavar="PROBABILITY", help="Probability that the upper bound is wrong."),
    ] = 0.01,
    rtol: Annotated[
        float,
        typer.Option(
            metavar="FRACTION", help="Stop when the bounds differ by this fraction of the lower."
        ),
    ] = 0.02,
    max_iter: Annotated[
        int,
        typer.Option(metavar="N", help="Maximum number of Lanczos steps."),
    ] = 500,
    ridge: Annotated[
        float,
        typer.Option(
            metavar="GAMMA",
            help="Compare L + GAMMA I instead of L, see docs/explanation/certificates.md.",
            rich_help_panel=ADVANCED,
        ),
    ] = 0.0,
    *,
    reading: Reading,
    printing: Printing,
    random_state: Seed = None,
):
    """Measure the error of a sparsifier, with a lower and an upper bound over all edges.

    Inputs that take no more than 640 MiB, 28 million edges or more, are read once, others once per
    step.

    epsilon_upper bounds the error: with probability 1 - delta, every cut (the weight between a
    group of nodes and all others) and every x'Lx of the sparsifier is within (1 +- epsilon_upper)
    of the graph's. epsilon_lower is an error that was found. Up to 2000 nodes both are exact.

    kappa bounds the ratio of the largest and the smallest of these quotients, which does not depend
    on a common factor of the weights. optimal_scale is the factor with the smallest error.

    Examples:
      graphsqueak certify edges.tsv.gz sparse.tsv
      graphsqueak certify edges.tsv sparse.tsv --rtol 0.2
      graphsqueak certify edges.tsv sparse.tsv --json
    """
    from graphsqueak.sparsifiers import certify as measure_error

    source = reading.open(edges, random_state)
    sparsifier_source = reading.open_result(sparsifier)
    certificate = measure_error(
        source,
        sparsifier_source.to_edge_list(),
        delta=delta,
        max_iter=max_iter,
        rtol=rtol,
        ridge=ridge,
        random_state=random_state,
        progress=printing.progress,
    )
    schema = report_schema(source, quiet=printing.quiet)
    report_schema(sparsifier_source, quiet=printing.quiet)
    n_edges = source.n_edges_read
    n_edges_of_sparsifier = sparsifier_source.n_edges_read
    # A projection is read from a table whose rows are not edges.
    if n_edges_of_sparsifier > n_edges and not reading.project:
        print_line(
            f"warning: {sparsifier} has {n_edges_of_sparsifier:,} edges, more than the "
            f"{n_edges:,} of the graph; the arguments may be swapped",
            on_stderr=True,
        )
    if printing.as_json:
        names = ("steps", "passes", "seconds", "problem", "unresolved")
        record = certificate.figures() | {name: getattr(certificate, name) for name in names}
        print_json(record | {"seed": random_state, "input": schema})
    elif not printing.quiet:
        rows = certificate.rows()
        width = max(len(name) for name, _, _ in rows)
        for name, value, meaning in rows:
            text = f"{value:.4g}" if isinstance(value, float) else str(value)
            print_line(f"{name:<{width}}  {text:<12}  {meaning}".rstrip())
