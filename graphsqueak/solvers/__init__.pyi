# written by docs/generate.py; do not edit
from graphsqueak.solvers.eigenpairs import smallest_eigenpairs as smallest_eigenpairs
from graphsqueak.solvers.laplacian_solver import LaplacianSolver as LaplacianSolver

__all__ = [
    "LaplacianSolver",
    "smallest_eigenpairs",
]
