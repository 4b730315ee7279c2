# written by docs/generate.py; do not edit
from graphsqueak.sparsifiers.budget import StreamOptions as StreamOptions
from graphsqueak.sparsifiers.certificate.certificate import Certificate as Certificate
from graphsqueak.sparsifiers.certificate.certify import certify as certify
from graphsqueak.sparsifiers.resistance.effective import effective_resistance as effective_resistance
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier as StreamSparsifier

__all__ = [
    "Certificate",
    "StreamOptions",
    "StreamSparsifier",
    "certify",
    "effective_resistance",
]
