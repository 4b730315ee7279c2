"""Mail: corpora on disk, TF-IDF vectors of texts and headers, and a spam filter.

An application on top of the public interface of the other packages: neighbor graphs from `sources`,
labels from `ssl`.
"""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "ExpectedRates": "calibration",
        "LabeledFraction": "calibration",
        "Mail": "corpus",
        "MailSource": "corpus",
        "ScoredMails": "spam_filter",
        "SecondView": "two_views",
        "SpamFilter": "spam_filter",
        "Threshold": "calibration",
        "TwoViews": "two_views",
        "choose_threshold": "calibration",
        "expected_rates": "calibration",
        "find_layout": "layouts",
        "fit_temperature": "calibration",
        "has_mail_texts": "layouts",
        "header_points": "words",
        "probability_of_spam": "calibration",
        "mails_to_label": "to_label",
        "read_mail": "corpus",
        "text_points": "words",
    },
)
