# written by docs/generate.py; do not edit
from graphsqueak.outofcore.block_cg import BlockCG as BlockCG
from graphsqueak.outofcore.convergence import Iterate as Iterate
from graphsqueak.outofcore.eigenpairs import smallest_eigenpairs as smallest_eigenpairs
from graphsqueak.outofcore.pencil import Pencil as Pencil
from graphsqueak.outofcore.resistances import effective_resistance as effective_resistance
from graphsqueak.outofcore.streamed_solver import StreamedSolver as StreamedSolver

__all__ = [
    "BlockCG",
    "Iterate",
    "Pencil",
    "StreamedSolver",
    "effective_resistance",
    "smallest_eigenpairs",
]
