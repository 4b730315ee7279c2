"""How a file of edges was understood, in one line that a person can check."""

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Understood"]


@dataclass(frozen=True)
class Understood:
    """What was read as what; `str` gives one line.

    Attributes
    ----------
    name : str
        Of the file, or of the first of several.
    columns : tuple
        Names of the columns of sources and targets, or their numbers from 0.
    weights : str, int or None
        Name or number of the column of weights; None if there is none.
    ids : {"integer", "text"}
    decimal : str or None
        An id such as 1.0, where all ids are whole numbers that were read as text.
    bipartite : bool
        Whether sources and targets were kept apart.
    duplicates : {"sum", "once"}
        What became of edges that are listed more than once, in either direction.
    repeated : float or None
        Share of the listed edges that repeat another; None where nobody has counted.
    is_estimated : bool
        Whether that share is an estimate.
    self_loops, zero_weights, bad_lines : int
        What was dropped.
    remarks : tuple of str
        Whatever else was noticed.

    Examples
    --------
    >>> print(Understood("e.csv", columns=("user", "item"), ids="text", repeated=0.12))
    e.csv: undirected; columns user, item; ids text; weights none; 12 % of the edges repeat, summed
    """

    name: str
    columns: tuple
    ids: str = "integer"
    weights: str | int | None = None
    decimal: str | None = None
    bipartite: bool = False
    duplicates: str = "sum"
    repeated: float | None = None
    is_estimated: bool = False
    self_loops: int = 0
    zero_weights: int = 0
    bad_lines: int = 0
    remarks: tuple = ()

    def __str__(self) -> str:
        source, target = self.columns
        if isinstance(self.weights, int):
            weights = f"column {self.weights}"
        else:
            weights = self.weights or "none"
        said = [
            "undirected",
            f"columns {source}, {target}",
            *self.remarks,
            self._ids(),
            f"weights {weights}",
        ]
        if self.bipartite:
            said.append("{} and {} kept apart".format(*side_names(self.columns)))
        for count, what in (
            (self.self_loops, "self-loop{} dropped"),
            (self.zero_weights, "edge{} of weight zero dropped"),
            (self.bad_lines, "bad line{} skipped"),
        ):
            if count:
                said.append(f"{count:,} {what.format('s' * (count > 1))}")
        said += self._repeats()
        return f"{self.name}: {'; '.join(said)}"

    def record(self) -> dict[str, Any]:
        """The same by name, as `--json` prints it."""
        record = asdict(self)
        return {key: list(v) if isinstance(v, tuple) else v for key, v in record.items()}

    def _ids(self):
        if self.decimal is None:
            return f"ids {self.ids}"
        whole = self.decimal.partition(".")[0]
        return f"ids text such as {self.decimal} (ids='integer' reads it as {whole})"

    def _repeats(self):
        if self.repeated is None:
            return []
        if self.repeated == 0:
            return ["no edge repeats" + " as far as can be told" * self.is_estimated]
        about = "about " * self.is_estimated
        share = f"{about}{100 * self.repeated:.0f} %" if self.repeated >= 0.01 else "under 1 %"
        done = "counted once" if self.duplicates == "once" else "summed"
        return [f"{share} of the edges repeat, {done}"]


def side_names(columns: tuple) -> tuple[str, str]:
    """What the ids of two sides begin with: the names of their columns, else source and target.

    >>> side_names(("user", "item")), side_names((0, 1))
    (('user', 'item'), ('source', 'target'))
    """
    source, target = columns[:2]
    if isinstance(source, str) and isinstance(target, str) and source != target:
        return source, target
    return "source", "target"
