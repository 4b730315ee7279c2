"""Which node is which: ids of integers and of text, numbered, matched and united."""
