"""graphsqueak certify: how good a sparsifier is, measured on the whole edge file."""

from typing import Annotated

import typer

from graphsqueak.cli import options
from graphsqueak.cli.reading import Edges, Reading, reads_edges, tell_understood

__all__ = ["certify"]


@reads_edges
def certify(
    edges: Edges,
    sparsifier: Annotated[
        str, typer.Argument(metavar="SPARSIFIER", help="Edge file of the sparsifier.")
    ],
    delta: Annotated[
        float, typer.Option(help="The upper bound may fail with this probability.")
    ] = 0.01,
    steps: Annotated[int, typer.Option(help="Most steps of Lanczos.")] = 500,
    rtol: Annotated[
        float, typer.Option(help="Stop when the bounds are this close, relative to the lower.")
    ] = 0.02,
    ridge: Annotated[float, typer.Option(help="For experts: gamma, see docs/certify.md.")] = 0.0,
    *,
    reading: Reading,
    seed: options.Seed = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
):
    """Bound the error of a sparsifier from both sides, over all of EDGES.

    Edges that take no more than 640 MiB, 28 million or more, are read once, others once per step.

    epsilon_upper bounds the error: the weight between any group of nodes and all others is, in the
    sparsifier, within (1 +- epsilon_upper) of the graph's, with probability 1 - delta, and so is
    every x'Lx. An error of epsilon_lower was found. Up to 2000 nodes both are the exact error.

    kappa is how far apart the ratios of both are at most, whatever common factor the weights get;
    optimal_scale is the one with the least error.

    Example: graphsqueak certify edges.tsv.gz sparse.tsv
    """
    from graphsqueak.sparsifiers import certify as measure

    source = reading.open(edges, seed)
    small = reading.open_result(sparsifier)
    certificate = measure(
        source,
        small.to_edge_list(),
        delta=delta,
        steps=steps,
        rtol=rtol,
        ridge=ridge,
        random_state=seed,
        progress=options.shows_progress(quiet=quiet, as_json=as_json),
    )
    understood = tell_understood(source, quiet=quiet)
    tell_understood(small, quiet=quiet)
    if as_json:
        names = ("steps", "passes", "seconds", "problem", "unresolved")
        record = certificate.figures() | {name: getattr(certificate, name) for name in names}
        options.print_json(record | {"input": understood})
    elif not quiet:
        for name, value, meaning in certificate.rows():
            shown = f"{value:.4g}" if isinstance(value, float) else value
            options.print_line(f"{name:<14} {shown!s:<12} {meaning}".rstrip())
