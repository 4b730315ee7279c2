"""graphsqueak learn: one pass of an online kernel learner over a table of any size."""

from typing import Annotated

import typer

from graphsqueak.cli import options
from graphsqueak.system.atomic import note_written
from graphsqueak.system.remote import exists, remove

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
            help="con-kons, pros-n-kons, b-kons, kernel-ogd, fogd, nogd, dual-sgd, skegd, bogd, or "
            "for classes bpa-s, rbp, forgetron, projectron, projectron++."
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
        str | None,
        typer.Option(
            help="Of the Gaussian kernel of standardized features, or auto: seven widths side by "
            "side, mixed by their losses. [default: 1/features]"
        ),
    ] = None,
    discount: Annotated[
        float, typer.Option(help="con-kons: weight of a round for each later one; 1 forgets none.")
    ] = 1.0,
    checkpoint: Annotated[
        str | None, typer.Option(metavar="FILE", help="Save the state in this file now and then.")
    ] = None,
    every: Annotated[float, typer.Option(metavar="SECONDS", help="How often to save.")] = 60.0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint.")] = False,
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
    from graphsqueak.online.table import is_predictions, learn_table, predictions_of

    if out is not None:
        options.check_table(out)
    side_outputs = []
    if checkpoint is not None and out is not None:
        side_outputs.append(("list of predictions", predictions_of(checkpoint), is_predictions))
    options.check_outputs(
        {"--checkpoint": checkpoint, "--out": out},
        [table],
        side_outputs=side_outputs,
        force=force,
        quiet=quiet,
        as_json=as_json,
        resumes=checkpoint if resume else None,
    )
    made = _learner(learner, n_components, gamma, discount, seed)
    for _, path, is_own in side_outputs:
        if force and exists(path) and not is_own(path):
            remove(path)
    run = learn_table(
        made,
        table,
        target=target,
        task=task,
        features=None if features is None else _names(features),
        classes=None if classes is None else _names(classes),
        out=out,
        checkpoint=checkpoint,
        checkpoint_interval=every,
        resume=resume,
        progress=options.shows_progress(quiet=quiet, as_json=as_json),
    )
    if checkpoint is not None:
        note_written(checkpoint, [out])
    if as_json:
        options.print_json({**run._asdict(), "learner": learner, "seed": seed})
    elif not quiet:
        what = "wrong labels" if run.task == "classification" else "mean squared error"
        options.print_summary(
            f"{what} {run.loss:.4g} over {run.n_rows:,} rows "
            f"(the best constant: {run.constant_loss:.4g}), "
            f"{run.n_support} points kept, {run.seconds:.1f} s" + (f", in {out}" if out else ""),
            out,
        )


def _names(text):
    return [name.strip() for name in text.split(",")]


def _width(text):
    """Parameters of the kernel, from what stands after --gamma."""
    from graphsqueak.errors import InputError

    if text == "auto":
        return text
    try:
        return {"gamma": float(text)}
    except ValueError:
        raise InputError(f"--gamma {text} is neither a number nor auto") from None


def _learner(name, n_components, gamma, discount, seed):
    """The learner that the options describe."""
    from graphsqueak import online
    from graphsqueak.errors import InputError

    kernel = {} if gamma is None else {"kernel_params": _width(gamma)}
    atoms, random = {"n_components": n_components}, {"random_state": seed}
    newton = {**kernel, **atoms, **random, "discount": discount}
    makers = {
        "con-kons": lambda: online.CONKONS(**newton),
        "pros-n-kons": lambda: online.PROSNKONS(**newton),
        "b-kons": lambda: online.BKONS(**newton),
        "kernel-ogd": lambda: online.KernelOGD(**kernel),
        "fogd": lambda: online.FOGD(**kernel, **atoms, **random),
        "nogd": lambda: online.NOGD(**kernel, **atoms),
        "dual-sgd": lambda: online.DualSGD(**kernel, **atoms, **random),
        "skegd": lambda: online.SkeGD(**kernel, **atoms, **random),
        "bogd": lambda: online.BOGD(**kernel, **atoms, **random),
        "bpa-s": lambda: online.BPAS(**kernel, **atoms),
        "rbp": lambda: online.RBP(**kernel, **atoms, **random),
        "forgetron": lambda: online.Forgetron(**kernel, **atoms),
        "projectron": lambda: online.Projectron(**kernel, **atoms),
        "projectron++": lambda: online.ProjectronPP(**kernel, **atoms),
    }
    if name not in makers:
        raise InputError(f"--learner {name} is not one of {', '.join(makers)}")
    return makers[name]()
