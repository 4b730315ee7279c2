"""Tests of the stream sparsifiers, and access to the state of one."""

from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.sparsifiers.stream.state import StreamConfig, StreamState

__all__ = ["engine_state", "stream_config"]


def engine_state(stream) -> StreamState:
    """Return the state of a `StreamSparsifier` with method="stream"."""
    return stream._engines[0].state


def stream_config(stream) -> StreamConfig:
    """Return the configuration of a `StreamSparsifier`, for functions of its state."""
    return StreamConfig(Budget(stream.n_edges, stream.epsilon, stream.keep), stream.options)
