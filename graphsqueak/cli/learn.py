"""graphsqueak learn: one pass of an online kernel learner over a table of any size."""

from typing import Annotated

import typer

from graphsqueak.cli import options

__all__ = ["learn"]


def learn(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="Rows to learn from: .csv, .tsv or .parquet.")
    ],
    target: Annotated[str, typer.Option("--target", metavar="COLUMN", help="What to predict.")],
    out: Annotated[
        str | None,
        typer.Option("-o", "--out", help="Write the predictions: .csv, .tsv or .parquet."),
    ] = None,
    learner: Annotated[
        str,
        typer.Option(
            help="con-kons, pros-n-kons, b-kons, width-mixture, kernel-ogd, fogd, nogd or skegd."
        ),
    ] = "con-kons",
    task: Annotated[str, typer.Option(help="auto, regression or classification.")] = "auto",
    features: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Columns to predict from: a,b,c. [default: all others]"),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="All labels, if the first rows do not have all."),
    ] = None,
    n_components: Annotated[
        int, typer.Option("-m", "--atoms", help="Points that the learner may keep.")
    ] = 100,
    gamma: Annotated[
        float | None,
        typer.Option(help="Of the Gaussian kernel of standardized features. [default: 1/features]"),
    ] = None,
    discount: Annotated[
        float, typer.Option(help="con-kons: weight of a round for each later one; 1 forgets none.")
    ] = 1.0,
    force: options.Force = False,
    seed: options.Seed = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
):
    """Predict every row, then learn from it, and tell how good the predictions were.

    The table is read once, in batches; features are standardized by the first one. The error is
    that of predictions made before their row was seen: there is no need for a test set.

    Example: graphsqueak learn houses.csv --target price -o predictions.csv
    """
    from graphsqueak.online.table import learn_table

    if out is not None:
        options.check_table(out)
    options.check_outputs({"--out": out}, [table], force=force, quiet=quiet, as_json=as_json)
    made = _learner(learner, n_components, gamma, discount, seed)
    run = learn_table(
        made,
        table,
        target=target,
        task=task,
        features=None if features is None else _names(features),
        classes=None if classes is None else _names(classes),
        out=out,
        progress=options.shows_progress(quiet=quiet, as_json=as_json),
    )
    if as_json:
        options.print_json({**run._asdict(), "learner": learner, "seed": seed})
    elif not quiet:
        what = "wrong labels" if run.task == "classification" else "mean squared error"
        options.print_summary(
            f"{what} {run.loss:.4g} over {run.n_rows:,} rows (the best constant: {run.guess:.4g}), "
            f"{run.n_support} points kept, {run.seconds:.1f} s" + (f", in {out}" if out else ""),
            out,
        )


def _names(text):
    return [name.strip() for name in text.split(",")]


def _learner(name, n_components, gamma, discount, seed):
    """The learner that the options describe."""
    from graphsqueak import online
    from graphsqueak.errors import InputError

    kernel = {} if gamma is None else {"kernel_params": {"gamma": gamma}}
    atoms, random = {"n_components": n_components}, {"random_state": seed}
    newton = {**kernel, **atoms, **random, "discount": discount}
    makers = {
        "con-kons": lambda: online.CONKONS(**newton),
        "pros-n-kons": lambda: online.PROSNKONS(**newton),
        "b-kons": lambda: online.BKONS(**newton),
        "width-mixture": lambda: online.WidthMixture(learner=online.CONKONS(**newton)),
        "kernel-ogd": lambda: online.KernelOGD(**kernel),
        "fogd": lambda: online.FOGD(**kernel, **atoms, **random),
        "nogd": lambda: online.NOGD(**kernel, **atoms),
        "skegd": lambda: online.SkeGD(**kernel, **atoms, **random),
    }
    if name not in makers:
        raise InputError(f"--learner {name} is not one of {', '.join(makers)}")
    return makers[name]()
