# written by docs/generate.py; do not edit
from graphsqueak.analysis.comparison import Comparison as Comparison
from graphsqueak.analysis.comparison import compare as compare

__all__ = [
    "Comparison",
    "compare",
]
