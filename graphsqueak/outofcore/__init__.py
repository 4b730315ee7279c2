"""Solves, eigenpairs and resistances of graphs that are streamed in several passes."""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BlockCG": "block_cg",
        "Iterate": "convergence",
        "Pencil": "pencil",
        "StreamedSolver": "streamed_solver",
        "effective_resistance": "resistances",
        "smallest_eigenpairs": "eigenpairs",
    },
)
