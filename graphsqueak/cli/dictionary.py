"""graphsqueak dictionary: a few points that represent all, under a Gaussian kernel."""

from typing import Annotated, Literal

import typer

from graphsqueak.cli.groups import Force, Printing, Seed, TableOut, with_option_groups
from graphsqueak.cli.output import check_format, check_outputs, print_json, print_summary
from graphsqueak.errors import InputError

# Points, at most a tenth of all, on which the landmarks are evaluated. The relative standard error
# of a mean over 1000 points is about 3 %; of half and twice as many, 4 % and 2 %.
MAX_TEST_POINTS = 1000


@with_option_groups
def dictionary(
    points: Annotated[
        str, typer.Argument(metavar="POINTS", help="Points: .csv, .tsv, .parquet, .npy or .npz.")
    ],
    n_landmarks: Annotated[
        int, typer.Option("-m", "--n-landmarks", metavar="N", help="Number of points to select.")
    ],
    out: TableOut,
    method: Annotated[
        Literal["squeak", "kors", "rp-cholesky", "uniform"],
        typer.Option(help="Sampling method. squeak and kors need one pass."),
    ] = "squeak",
    gamma: Annotated[
        float | None,
        typer.Option(
            metavar="GAMMA",
            help="Kernel exp(-GAMMA |x - y|^2).",
            show_default="1 / (features x variance)",
        ),
    ] = None,
    force: Force = False,
    *,
    printing: Printing,
    random_state: Seed = None,
):
    """Select points whose span under the kernel contains nearly all others, with weights.

    The output has the row number (or the id, if the points have ids), the weight and the
    coordinates of every landmark. The error is measured on points that were set aside: the fraction
    of them outside the span of the landmarks.

    Examples:
      graphsqueak dictionary points.npy -m 200 -o landmarks.parquet
      graphsqueak dictionary points.npy -m 20 --method rp-cholesky -o landmarks.csv
      graphsqueak dictionary points.npy -m 20 --gamma 0.5 -o landmarks.csv
    """
    import time

    import numpy as np

    from graphsqueak import kernel
    from graphsqueak.sources import write_columns
    from graphsqueak.sources.neighbors.point_files import read_points

    began = time.perf_counter()
    check_format(out)
    check_outputs({"--out": out}, [points], printing=printing, force=force)
    rows, ids = read_points(points)
    rows = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
    if rows.ndim != 2 or len(rows) < 2:
        raise InputError(f"{points} has shape {rows.shape}; give two points or more")
    if gamma is None:
        gamma = 1 / (rows.shape[1] * (float(rows.var()) or 1.0))
    order = np.random.default_rng(random_state).permutation(len(rows))
    n_test = max(min(MAX_TEST_POINTS, len(rows) // 10), 1)
    train = np.sort(order[n_test:])
    samplers = {
        "squeak": kernel.SQUEAK,
        "kors": kernel.KORS,
        "rp-cholesky": kernel.RPCholesky,
        "uniform": kernel.UniformDictionary,
    }
    sampler = samplers[method](
        kernel_params={"gamma": gamma},
        ridge="auto",
        n_landmarks=n_landmarks,
        random_state=random_state,
    )
    sampler.fit(rows[train])
    unexplained = sampler.unexplained(rows[order[:n_test]])
    landmarks = train[sampler.indices_]
    names = {"row": landmarks} if ids is None else {"id": np.asarray(ids)[landmarks]}
    coordinates = {f"x{j}": column for j, column in enumerate(rows[landmarks].T)}
    write_columns({**names, "weight": sampler.weights_, **coordinates}, out)
    record = {
        "points": len(rows),
        "landmarks": len(landmarks),
        "gamma": gamma,
        "unexplained": unexplained,
        "held_out": n_test,
        "seconds": time.perf_counter() - began,
        "method": method,
        "seed": random_state,
    }
    if printing.as_json:
        print_json(record)
    elif not printing.quiet:
        print_summary(
            f"{len(landmarks)} of {len(rows):,} points in {record['seconds']:.1f} s, in {out}: "
            f"{100 * unexplained:.3g} % of {n_test:,} points set aside is outside their span",
            out,
        )
