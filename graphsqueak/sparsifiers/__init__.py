"""Sparsifiers of graphs: the stream, its certificate, and effective resistances."""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Certificate": "certificate.certificate",
        "StreamOptions": "budget",
        "StreamSparsifier": "stream.stream_sparsifier",
        "certify": "certificate.certify",
        "effective_resistance": "resistance.effective",
    },
)
