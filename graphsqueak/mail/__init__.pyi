# written by docs/generate.py; do not edit
from graphsqueak.mail.calibration import ExpectedRates as ExpectedRates
from graphsqueak.mail.calibration import LabeledFraction as LabeledFraction
from graphsqueak.mail.calibration import Threshold as Threshold
from graphsqueak.mail.calibration import choose_threshold as choose_threshold
from graphsqueak.mail.calibration import expected_rates as expected_rates
from graphsqueak.mail.calibration import fit_temperature as fit_temperature
from graphsqueak.mail.calibration import probability_of_spam as probability_of_spam
from graphsqueak.mail.corpus import Mail as Mail
from graphsqueak.mail.corpus import MailSource as MailSource
from graphsqueak.mail.corpus import read_mail as read_mail
from graphsqueak.mail.layouts import find_layout as find_layout
from graphsqueak.mail.layouts import has_mail_texts as has_mail_texts
from graphsqueak.mail.spam_filter import ScoredMails as ScoredMails
from graphsqueak.mail.spam_filter import SpamFilter as SpamFilter
from graphsqueak.mail.to_label import mails_to_label as mails_to_label
from graphsqueak.mail.two_views import SecondView as SecondView
from graphsqueak.mail.two_views import TwoViews as TwoViews
from graphsqueak.mail.words import header_points as header_points
from graphsqueak.mail.words import text_points as text_points

__all__ = [
    "ExpectedRates",
    "LabeledFraction",
    "Mail",
    "MailSource",
    "ScoredMails",
    "SecondView",
    "SpamFilter",
    "Threshold",
    "TwoViews",
    "choose_threshold",
    "expected_rates",
    "find_layout",
    "fit_temperature",
    "has_mail_texts",
    "header_points",
    "mails_to_label",
    "probability_of_spam",
    "read_mail",
    "text_points",
]
