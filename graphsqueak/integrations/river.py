"""Learners as models of river (extra `river`), for its pipelines and metrics."""

from graphsqueak.online.losses import loss_of

__all__ = ["to_river"]


def to_river(learner):
    """A river regressor or binary classifier around a learner, which it trains.

    river's features are dictionaries. All names must be in the first row; one that is missing later
    counts as 0, a new one is an error.

    Parameters
    ----------
    learner : OnlineLearner

    Returns
    -------
    river.base.Regressor or river.base.Classifier
    """
    try:
        from graphsqueak.integrations.river_models import RiverClassifier, RiverRegressor
    except ImportError:
        raise ImportError(
            "this needs river; install it with pip install 'graphsqueak[river]'"
        ) from None
    kind = RiverClassifier if loss_of(learner.loss).is_classification else RiverRegressor
    return kind(learner)
