# written by docs/generate.py; do not edit
from graphsqueak.integrations.pyg import Sparsify as Sparsify
from graphsqueak.integrations.river import to_river as to_river

__all__ = [
    "Sparsify",
    "to_river",
]
