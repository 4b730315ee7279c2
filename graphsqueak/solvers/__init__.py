"""L x = b for many right-hand sides: block conjugate gradients and their preconditioners."""

from graphsqueak.solvers.laplacian_solver import LaplacianSolver

__all__ = ["LaplacianSolver"]
