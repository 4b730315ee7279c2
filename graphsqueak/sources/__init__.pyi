# written by docs/generate.py; do not edit
from graphsqueak.sources.edge_source import EdgeSource as EdgeSource
from graphsqueak.sources.files.reading import read_edges as read_edges
from graphsqueak.sources.files.writing import write_columns as write_columns
from graphsqueak.sources.files.writing import write_edges as write_edges
from graphsqueak.sources.following import follow_edges as follow_edges
from graphsqueak.sources.graph_like import as_edge_list as as_edge_list
from graphsqueak.sources.graph_like import as_stream as as_stream
from graphsqueak.sources.neighbors.edges import neighbor_edges as neighbor_edges
from graphsqueak.sources.projections.projection_source import ProjectionSource as ProjectionSource
from graphsqueak.sources.projections.projection_source import read_projection as read_projection
from graphsqueak.sources.recent import recent_edges as recent_edges
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian as StreamedLaplacian
from graphsqueak.sources.summary import Summary as Summary
from graphsqueak.sources.summary import info as info
from graphsqueak.sources.synthetic.closed_forms import SyntheticSource as SyntheticSource
from graphsqueak.sources.synthetic.closed_forms import barbell as barbell
from graphsqueak.sources.synthetic.closed_forms import complete as complete
from graphsqueak.sources.synthetic.closed_forms import complete_bipartite as complete_bipartite
from graphsqueak.sources.synthetic.closed_forms import cycle as cycle
from graphsqueak.sources.synthetic.closed_forms import grid as grid
from graphsqueak.sources.synthetic.closed_forms import hypercube as hypercube
from graphsqueak.sources.synthetic.closed_forms import path as path
from graphsqueak.sources.synthetic.closed_forms import star as star
from graphsqueak.sources.synthetic.random_graphs import block_model as block_model
from graphsqueak.sources.synthetic.random_graphs import chung_lu as chung_lu
from graphsqueak.sources.synthetic.random_graphs import erdos_renyi as erdos_renyi
from graphsqueak.sources.synthetic.random_graphs import gaussian_neighbors as gaussian_neighbors
from graphsqueak.sources.synthetic.random_graphs import small_world as small_world

__all__ = [
    "EdgeSource",
    "ProjectionSource",
    "StreamedLaplacian",
    "Summary",
    "SyntheticSource",
    "as_edge_list",
    "as_stream",
    "barbell",
    "block_model",
    "chung_lu",
    "complete",
    "complete_bipartite",
    "cycle",
    "erdos_renyi",
    "follow_edges",
    "gaussian_neighbors",
    "grid",
    "hypercube",
    "info",
    "neighbor_edges",
    "path",
    "read_edges",
    "read_projection",
    "recent_edges",
    "small_world",
    "star",
    "write_columns",
    "write_edges",
]
