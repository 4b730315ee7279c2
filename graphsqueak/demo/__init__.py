"""The demo: what to do with a dense graph on disk, told on the shipped mails, and a page of it."""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Clusters": "story",
        "DenseFile": "story",
        "Labeled": "story",
        "MailGraph": "study",
        "Row": "measure",
        "Small": "story",
        "accuracy_table": "page",
        "draw_clusters": "story",
        "label_both": "story",
        "label_mails": "study",
        "load_mails": "study",
        "make_small": "story",
        "sparsify_mails": "study",
        "write_files": "page",
    },
)
