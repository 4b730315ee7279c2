# written by docs/generate.py; do not edit
from graphsqueak.mail.corpus import Mail as Mail
from graphsqueak.mail.corpus import MailSource as MailSource
from graphsqueak.mail.corpus import read_mail as read_mail
from graphsqueak.mail.layouts import find_layout as find_layout
from graphsqueak.mail.layouts import has_mail_texts as has_mail_texts
from graphsqueak.mail.spam_filter import ScoredMails as ScoredMails
from graphsqueak.mail.spam_filter import SpamFilter as SpamFilter
from graphsqueak.mail.two_views import SecondView as SecondView
from graphsqueak.mail.two_views import TwoViews as TwoViews
from graphsqueak.mail.words import header_points as header_points
from graphsqueak.mail.words import text_points as text_points

__all__ = [
    "Mail",
    "MailSource",
    "ScoredMails",
    "SecondView",
    "SpamFilter",
    "TwoViews",
    "find_layout",
    "has_mail_texts",
    "header_points",
    "read_mail",
    "text_points",
]
