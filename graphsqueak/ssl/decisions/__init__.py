"""From scores to classes and probabilities."""
