"""Node ids: numbering of integers, text and objects, and matching of ids between graphs."""
