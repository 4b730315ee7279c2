"""Cross-validation on graphs with scikit-learn: labels are hidden, the graph stays whole."""
