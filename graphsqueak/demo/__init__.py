"""The demo: a study of the shipped mails, and the page that shows it."""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "MailGraph": "study",
        "Row": "measure",
        "accuracy_table": "page",
        "label_mails": "study",
        "load_mails": "study",
        "sparsify_mails": "study",
        "write_files": "page",
    },
)
