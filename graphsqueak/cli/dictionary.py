"""graphsqueak dictionary: a few of many points that stand for all, under a Gaussian kernel."""

from typing import Annotated

import typer

from graphsqueak.cli import options

__all__ = ["dictionary"]

_HELD_OUT = 1000  # points, at most a tenth, on which the atoms are judged


def dictionary(
    points: Annotated[
        str, typer.Argument(metavar="POINTS", help="Points: .csv, .tsv, .parquet, .npy or .npz.")
    ],
    n_landmarks: Annotated[int, typer.Option("-m", "--atoms", help="Points to choose.")],
    out: Annotated[
        str, typer.Option("-o", "--out", help="Table to write: .tsv, .csv, .parquet or .arrow.")
    ],
    method: Annotated[
        str, typer.Option(help="squeak, kors (both in one pass), rp-cholesky or uniform.")
    ] = "squeak",
    gamma: Annotated[
        float | None,
        typer.Option(help="Of exp(-gamma |x - y|^2). [default: 1 / (features x variance)]"),
    ] = None,
    force: options.Force = False,
    seed: options.Seed = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
):
    """Choose points whose span holds nearly all of the others, and their weights.

    OUT has the row number (or the id, if the points have ids), the weight and the coordinates of
    every atom. How good they are is measured on points that were set aside: the share of them that
    lies outside the span of the atoms.

    Example: graphsqueak dictionary points.npy -m 200 -o atoms.parquet
    """
    import time

    import numpy as np

    from graphsqueak import kernel
    from graphsqueak.errors import InputError
    from graphsqueak.sources import write_columns
    from graphsqueak.sources.neighbors.point_files import read_points

    began = time.perf_counter()
    options.check_table(out)
    options.check_outputs({"--out": out}, [points], force=force, quiet=quiet, as_json=as_json)
    samplers = {"squeak": kernel.SQUEAK, "kors": kernel.KORS}
    samplers |= {"rp-cholesky": kernel.RPCholesky, "uniform": kernel.UniformDictionary}
    if method not in samplers:
        raise InputError(f"--method {method} is not one of {', '.join(samplers)}")
    rows, ids = read_points(points)
    rows = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
    if rows.ndim != 2 or len(rows) < 2:
        raise InputError(f"{points} has shape {rows.shape}; give two points or more")
    variance = float(rows.var())
    gamma = 1 / (rows.shape[1] * (variance or 1.0)) if gamma is None else gamma
    order = np.random.default_rng(seed).permutation(len(rows))
    n_test = max(min(_HELD_OUT, len(rows) // 10), 1)
    train = np.sort(order[n_test:])
    chosen = samplers[method](
        kernel_params={"gamma": gamma}, ridge="auto", n_landmarks=n_landmarks, random_state=seed
    ).fit(rows[train])
    rest = chosen.unexplained(rows[order[:n_test]])
    index = train[chosen.indices_]
    names = {"row": index} if ids is None else {"id": np.asarray(ids)[index]}
    coordinates = {f"x{j}": column for j, column in enumerate(rows[index].T)}
    write_columns({**names, "weight": chosen.weights_, **coordinates}, out)
    record = {
        "points": len(rows),
        "atoms": len(index),
        "gamma": gamma,
        "unexplained": rest,
        "held_out": n_test,
        "seconds": time.perf_counter() - began,
        "method": method,
        "seed": seed,
    }
    if as_json:
        options.print_json(record)
    elif not quiet:
        options.print_summary(
            f"{len(index)} of {len(rows):,} points in {record['seconds']:.1f} s, in {out}: "
            f"{100 * rest:.3g} % of {n_test:,} points set aside lies outside their span",
            out,
        )
