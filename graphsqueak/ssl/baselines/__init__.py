"""Other ways to label, to compare with."""
