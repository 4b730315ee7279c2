# written by docs/generate.py; do not edit
from graphsqueak.demo.measure import Row as Row
from graphsqueak.demo.page import accuracy_table as accuracy_table
from graphsqueak.demo.page import write_files as write_files
from graphsqueak.demo.story import Clusters as Clusters
from graphsqueak.demo.story import DenseFile as DenseFile
from graphsqueak.demo.story import Labeled as Labeled
from graphsqueak.demo.story import Small as Small
from graphsqueak.demo.story import draw_clusters as draw_clusters
from graphsqueak.demo.story import label_both as label_both
from graphsqueak.demo.story import make_small as make_small
from graphsqueak.demo.study import MailGraph as MailGraph
from graphsqueak.demo.study import label_mails as label_mails
from graphsqueak.demo.study import load_mails as load_mails
from graphsqueak.demo.study import sparsify_mails as sparsify_mails

__all__ = [
    "Clusters",
    "DenseFile",
    "Labeled",
    "MailGraph",
    "Row",
    "Small",
    "accuracy_table",
    "draw_clusters",
    "label_both",
    "label_mails",
    "load_mails",
    "make_small",
    "sparsify_mails",
    "write_files",
]
