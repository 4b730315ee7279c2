# written by docs/generate.py; do not edit
from graphsqueak.solvers.laplacian_solver import LaplacianSolver as LaplacianSolver

__all__ = [
    "LaplacianSolver",
]
