"""Progressive validation over a table of any size: predict, pay, learn, batch after batch.

A table (.csv, .tsv or .parquet) is read in batches and never held. The first batch decides what the
target is, numbers or classes, and the scale: features, and targets that are numbers, are
standardized by its means and deviations, and later rows by the same. Predictions are written in the
units of the table, and each was made before its row was learnt from.
"""

import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.online.width_mixture import WidthMixture
from graphsqueak.sources.files.writing import format_of
from graphsqueak.system.atomic import atomic_file
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.validation import check_choice, check_count

__all__ = ["TableRun", "learn_table"]

_BATCH = 4096
_FEW = 20  # whole numbers of which there are no more are classes
_CLIP = 3.0  # of margins, and of standardized targets where a learner needs a bound
_FARTHEST = 10.0  # deviations; later rows may be anything


class TableRun(NamedTuple):
    """What happened in `learn_table`.

    `loss` is the mean squared error in the units of the target, or the share of wrong labels, of
    predictions made before their rows were learnt from; `guess` that of the best constant.
    """

    task: str
    n_rows: int
    n_features: int
    loss: float
    guess: float
    n_support: int
    seconds: float


def learn_table(
    learner: OnlineLearner,
    path: str | Path,
    *,
    target: str,
    task: str = "auto",
    features: list[str] | None = None,
    classes: list[str] | None = None,
    out: str | Path | None = None,
    batch_size: int = _BATCH,
    progress: Progress = False,
) -> TableRun:
    """Run a learner over the rows of a file, once, and tell how well it predicted.

    Parameters
    ----------
    learner : OnlineLearner
        A fresh one, whose loss fits the task, or "squared", which becomes "squared_hinge" with
        clip 3 for classes. Numbers are standardized, and predictions of them not bounded.
    path : str or Path
        .csv, .tsv or .parquet, with named columns.
    target : str
        The column to predict.
    task : {"auto", "regression", "classification"}
        "auto": numbers are regression, unless they are whole and at most twenty.
    features : list of str, optional
        The columns to predict from; default: all others, which must be numbers then.
    classes : list of str, optional
        All labels, if the first batch need not have all.
    out : str or Path, optional
        A table of predictions, one for each row: .csv, .tsv or .parquet.
    batch_size : int
        Rows at a time; the first so many decide scale, task and classes.
    progress : bool or callable
        A bar, or a function called as progress(done, fraction, note).

    Returns
    -------
    TableRun

    Examples
    --------
    >>> from graphsqueak.online import CONKONS
    >>> rows = "".join(f"{t % 7},{(t % 7) ** 2}\\n" for t in range(700))
    >>> written = Path("squares.csv").write_text("x,y\\n" + rows)
    >>> run = learn_table(CONKONS(n_components=20, random_state=7), "squares.csv", target="y")
    >>> run.task, run.n_rows, run.loss < 0.1 * run.guess
    ('classification', 700, True)
    """
    check_choice("task", task, ("auto", "regression", "classification"))
    size = check_count("batch_size", batch_size)
    began, state = time.perf_counter(), None
    with ExitStack() as stack:
        report = stack.enter_context(reporter(progress, type(learner).__name__, unit="rows"))
        write = None if out is None else stack.enter_context(_writer(out))
        for frame, fraction in _batches(Path(path).expanduser(), size):
            if state is None:
                state = _Columns(frame, path, target, features, task, classes).begin(learner)
            predicted = state.learn(frame)
            if write is not None:
                write(predicted)
            report(state.n_rows, fraction, f"{state.learner.n_support_} points kept")
    if state is None:
        raise InputError(f"{path} has no rows to learn from")
    return state.summary(time.perf_counter() - began)


class _Columns:
    """Which columns a table has, how they are scaled, and the sums of a run."""

    def __init__(self, frame, path, target, features, task, classes):
        self.path, self.target = path, target
        for name in [target, *(features or [])]:
            if name not in frame.columns:
                raise InputError(
                    f"{path} has no column {name!r}; its columns are {', '.join(frame.columns)}"
                )
        self.features = features or [name for name in frame.columns if name != target]
        if not self.features:
            raise InputError(
                f"{path} has the column {target!r} only; there is nothing to learn from"
            )
        self.n_rows = 0
        X, y = self._matrix(frame), frame[target]
        self.task = _task_of(y) if task == "auto" else task
        self.center, spread = X.mean(axis=0), X.std(axis=0)
        self.spread = np.where(spread > 0, spread, 1.0)
        if self.task == "classification":
            found = y.cast(str).unique().to_list() if classes is None else classes
            self.classes = np.array(sorted(found))
            self.counts = np.zeros(len(self.classes))
        else:
            numbers = self._numbers(y)
            self.middle, self.unit = numbers.mean(), max(numbers.std(), 1e-300)
        self.sums = np.zeros(3)  # of losses, of targets, of their squares

    def begin(self, learner):
        """Make the learner fit the task."""
        law = learner._loss()
        if self.task == "classification" and not law.is_classification:
            learner = learner.set_params(loss="squared_hinge", clip=_CLIP)
        elif self.task == "regression":
            if law.is_classification:
                raise InputError(f"loss={law.name!r} is for labels; {self.target!r} has numbers")
            bounded = law.name != "squared" or isinstance(learner, WidthMixture)
            learner = learner.set_params(clip=_CLIP if bounded else None)
        self.learner = learner
        return self

    def learn(self, frame):
        """Predictions for the rows of a batch, before each was learnt from."""
        X = np.clip((self._matrix(frame) - self.center) / self.spread, -_FARTHEST, _FARTHEST)
        if self.task == "classification":
            return self._learn_labels(X, frame[self.target])
        y = self._numbers(frame[self.target])
        scores = self.learner.predict_then_learn(X, (y - self.middle) / self.unit)
        predicted = self.middle + self.unit * scores
        self.n_rows += len(y)
        self.sums += np.sum((predicted - y) ** 2), np.sum(y), np.sum(y**2)
        return predicted

    def _learn_labels(self, X, column):
        y = column.cast(str).to_numpy()
        known = np.isin(y, self.classes)
        if not known.all():
            row = int(np.argmin(known))
            raise InputError(
                f"{self.path}: label {y[row]!r} in row {self.n_rows + row + 1} is none of the "
                f"first batch; name all of them: classes={','.join([*self.classes, y[row]])}"
            )
        scores = self.learner.predict_then_learn(X, y, classes=self.classes)
        predicted = self.learner._labels(scores)
        self.counts += np.sum(y[:, None] == self.classes, axis=0)
        self.sums[0] += np.sum(predicted != y)
        self.n_rows += len(y)
        return predicted

    def _matrix(self, frame):
        for name in self.features:
            if name not in frame.columns:
                raise InputError(f"{self.path}: column {name!r} is missing after row {self.n_rows}")
        return np.column_stack([self._numbers(frame[name]) for name in self.features])

    def _numbers(self, column):
        if not (column.dtype.is_numeric() or column.dtype == bool):
            raise InputError(
                f"{self.path}: column {column.name!r} holds {column.dtype}, not numbers; leave it "
                "out by naming the features"
            )
        values = column.to_numpy().astype(np.float64)
        if not np.isfinite(values).all():
            row = self.n_rows + int(np.argmin(np.isfinite(values))) + 1
            raise InputError(
                f"{self.path}: column {column.name!r} is empty or infinite in row {row} of the "
                "data; fill it or drop the row"
            )
        return values

    def summary(self, seconds):
        loss, total, squares = self.sums / self.n_rows
        if self.task == "classification":
            guess = 1 - self.counts.max() / self.n_rows
        else:
            guess = squares - total**2
        sizes = self.n_rows, len(self.features)
        kept = self.learner.n_support_
        return TableRun(self.task, *sizes, float(loss), float(guess), kept, seconds)


def _task_of(column):
    if not column.dtype.is_numeric():
        return "classification"
    values = column.drop_nulls().unique()
    few = len(values) <= _FEW and not column.dtype.is_float()
    return "classification" if few else "regression"


def _batches(path, size):
    """Data frames of at most `size` rows, and what share of the file lies behind each."""
    import polars as pl
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    if not path.is_file():
        raise InputError(f"{path} is no file; give a table as .csv, .tsv or .parquet")
    form = path.suffix.lower()
    try:
        if form in (".parquet", ".pq"):
            file = pyarrow.parquet.ParquetFile(path)
            total = max(file.metadata.num_rows, 1)
            parts = file.iter_batches(batch_size=size)
        elif form in (".csv", ".tsv"):
            parse = pyarrow.csv.ParseOptions(delimiter="\t" if form == ".tsv" else ",")
            parts, total = pyarrow.csv.open_csv(path, parse_options=parse), None
        else:
            raise InputError(f"{path.name!r} does not end in .csv, .tsv or .parquet")
        done, left = 0, None
        for part in parts:
            frame = pl.from_arrow(pa.table(part) if isinstance(part, dict) else part)
            left = frame if left is None else pl.concat([left, frame])
            while len(left) >= size:
                done += size
                yield left[:size], done / total if total else float("nan")
                left = left[size:]
        if left is not None and len(left):
            yield left, 1.0
    except (pa.ArrowException, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path} cannot be read: {str(error).splitlines()[0]}") from None


@contextmanager
def _writer(path):
    """A function that appends predictions to a table, which is there at the end, or not at all."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    form, compression = format_of(path)
    if form not in ("csv", "tsv", "parquet"):
        raise InputError(f"{path}: predictions are written as .csv, .tsv or .parquet")
    with atomic_file(path, compression) as file, ExitStack() as stack:
        opened = []

        def write(values):
            table = pa.table({"prediction": pa.array(values.tolist())})
            if not opened:
                if form == "parquet":
                    made = pyarrow.parquet.ParquetWriter(file, table.schema)
                else:
                    made = pyarrow.csv.CSVWriter(file, table.schema)
                opened.append(stack.enter_context(made))
            opened[0].write_table(table)

        yield write
