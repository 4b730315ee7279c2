"""Edge files of every format, read block by block and written whole or not at all."""
