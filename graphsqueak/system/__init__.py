"""The machine, not the mathematics: threads, whole files, packed states, memory, progress."""
