"""L x = b for many right-hand sides: block conjugate gradients and their preconditioners."""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "LaplacianSolver": "laplacian_solver",
    },
)
