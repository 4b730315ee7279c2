"""graphsqueak learn: one pass of an online kernel learner over a table of any size."""

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from graphsqueak.cli.groups import Checkpointing, Force, Printing, Seed, with_option_groups
from graphsqueak.cli.help_pages import ADVANCED, OUTPUT
from graphsqueak.cli.output import (
    check_format,
    check_outputs,
    print_json,
    print_summary,
)
from graphsqueak.errors import InputError
from graphsqueak.system.atomic import note_written
from graphsqueak.system.remote import exists, remove

# Class of the online learner by the name of --learner.
LEARNERS = {
    "con-kons": "CONKONS",
    "pros-n-kons": "PROSNKONS",
    "b-kons": "BKONS",
    "kernel-ogd": "KernelOGD",
    "fogd": "FOGD",
    "nogd": "NOGD",
    "dual-sgd": "DualSGD",
    "skegd": "SkeGD",
    "bogd": "BOGD",
    "bpa-s": "BPAS",
    "rbp": "RBP",
    "forgetron": "Forgetron",
    "projectron": "Projectron",
    "projectron++": "ProjectronPP",
}


@dataclass(frozen=True, kw_only=True)
class Learner:
    """The online learner and its parameters."""

    n_components: Annotated[
        int,
        typer.Option(
            "-m", "--n-landmarks", metavar="N", help="Maximum number of rows that are kept."
        ),
    ] = 100
    learner: Annotated[
        Literal[tuple(LEARNERS)],  # type: ignore[valid-type]
        typer.Option(help="Algorithm. bpa-s to projectron++ are for classification only."),
    ] = "con-kons"
    gamma: Annotated[
        str | None,
        typer.Option(
            metavar="GAMMA|auto",
            help="Kernel exp(-GAMMA |x - y|^2) of standardized features. auto runs seven widths "
            "and mixes them by their losses.",
            show_default="1 / features",
            rich_help_panel=ADVANCED,
        ),
    ] = None
    discount: Annotated[
        float,
        typer.Option(
            metavar="FACTOR",
            help="Factor by which the weight of past rows falls per row; 1 forgets none "
            "(con-kons, pros-n-kons and b-kons).",
            rich_help_panel=ADVANCED,
        ),
    ] = 1.0

    def make(self, random_state):
        """Return the learner, with the options that its class has."""
        from inspect import signature

        from graphsqueak import online

        learner = getattr(online, LEARNERS[self.learner])
        options = {
            "n_components": self.n_components,
            "discount": self.discount,
            "random_state": random_state,
        }
        parameters = signature(learner).parameters
        if self.discount != 1 and "discount" not in parameters:
            raise InputError(
                f"--discount is for con-kons, pros-n-kons and b-kons, not for {self.learner}"
            )
        options = {key: value for key, value in options.items() if key in parameters}
        if self.gamma is not None:
            options["kernel_params"] = _kernel_params(self.gamma)
        return learner(**options)


@with_option_groups
def learn(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="Rows to learn from: .csv, .tsv or .parquet.")
    ],
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column to predict.")],
    task: Annotated[
        Literal["auto", "regression", "classification"], typer.Option(help="Kind of the target.")
    ] = "auto",
    features: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="Columns to predict from: a,b,c.", show_default="all others"
        ),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="All labels, if the first rows do not have all of them.",
            rich_help_panel=ADVANCED,
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--out",
            metavar="PATH",
            help="Write the predictions: .csv, .tsv or .parquet.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    force: Force = False,
    *,
    learner: Learner,
    checkpointing: Checkpointing,
    printing: Printing,
    random_state: Seed = None,
):
    """Predict every row of a table, then learn from it, and report the prequential error.

    The table is read once, in batches. Features are standardized by the first batch. The error is
    that of predictions made before their row was seen, so that no test set is needed.

    Examples:
      graphsqueak learn houses.csv --target price
      graphsqueak learn houses.csv --target price -o predictions.csv
      graphsqueak learn houses.csv --target price --n-landmarks 200 --gamma auto
    """
    from graphsqueak.online.table import (
        is_predictions,
        learn_table,
        predictions_of,
        saved_seed,
    )

    if out is not None:
        check_format(out)
    checkpoint = checkpointing.checkpoint
    side_outputs = []
    if checkpoint is not None and out is not None:
        side_outputs.append(("list of predictions", predictions_of(checkpoint), is_predictions))
    check_outputs(
        {"--checkpoint": checkpoint, "--out": out},
        [table],
        printing=printing,
        force=force,
        side_outputs=side_outputs,
        resumed_checkpoint=checkpointing.resumed_path,
    )
    checkpointing.note_if_missing(quiet=printing.quiet)
    if random_state is None:
        random_state = saved_seed(checkpoint)
    estimator = learner.make(random_state)
    for _, path, is_of_earlier_run in side_outputs:
        if force and exists(path) and not is_of_earlier_run(path):
            remove(path)
    run = learn_table(
        estimator,
        table,
        target=target,
        task=task,
        features=None if features is None else _split(features),
        classes=None if classes is None else _split(classes),
        out=out,
        checkpoint=checkpoint,
        checkpoint_interval=checkpointing.checkpoint_interval,
        resume=checkpointing.resume,
        progress=printing.progress,
    )
    if checkpoint is not None:
        note_written(checkpoint, [out])
    if printing.as_json:
        print_json({**run._asdict(), "learner": learner.learner, "seed": random_state})
    elif not printing.quiet:
        loss = "error rate" if run.task == "classification" else "mean squared error"
        print_summary(
            f"{loss} {run.loss:.4g} over {run.n_rows:,} rows (the best constant: "
            f"{run.constant_loss:.4g}), {run.n_support} rows kept, {run.seconds:.1f} s"
            + (f", in {out}" if out else ""),
            out,
        )


def _split(names):
    return [name.strip() for name in names.split(",")]


def _kernel_params(gamma):
    if gamma == "auto":
        return gamma
    try:
        return {"gamma": float(gamma)}
    except ValueError:
        raise InputError(f"--gamma {gamma} is neither a number nor auto") from None
