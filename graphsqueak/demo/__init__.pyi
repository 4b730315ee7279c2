# written by docs/generate.py; do not edit
from graphsqueak.demo.measure import Row as Row
from graphsqueak.demo.page import accuracy_table as accuracy_table
from graphsqueak.demo.page import write_files as write_files
from graphsqueak.demo.study import MailGraph as MailGraph
from graphsqueak.demo.study import label_mails as label_mails
from graphsqueak.demo.study import load_mails as load_mails
from graphsqueak.demo.study import sparsify_mails as sparsify_mails

__all__ = [
    "MailGraph",
    "Row",
    "accuracy_table",
    "label_mails",
    "load_mails",
    "sparsify_mails",
    "write_files",
]
