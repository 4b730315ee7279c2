# written by docs/generate.py; do not edit
from graphsqueak.analysis.centrality import Ranking as Ranking
from graphsqueak.analysis.centrality import rank as rank
from graphsqueak.analysis.clusters import Clusters as Clusters
from graphsqueak.analysis.clusters import spectral_clusters as spectral_clusters
from graphsqueak.analysis.community import Communities as Communities
from graphsqueak.analysis.community import communities as communities
from graphsqueak.analysis.comparison import Comparison as Comparison
from graphsqueak.analysis.comparison import compare as compare
from graphsqueak.analysis.cuts import Cut as Cut
from graphsqueak.analysis.cuts import cut as cut
from graphsqueak.analysis.drawing import draw as draw
from graphsqueak.analysis.embedding import SpectralEmbedding as SpectralEmbedding
from graphsqueak.analysis.embedding import spectral_embedding as spectral_embedding
from graphsqueak.analysis.layouts import layout as layout

__all__ = [
    "Clusters",
    "Communities",
    "Comparison",
    "Cut",
    "Ranking",
    "SpectralEmbedding",
    "communities",
    "compare",
    "cut",
    "draw",
    "layout",
    "rank",
    "spectral_clusters",
    "spectral_embedding",
]
