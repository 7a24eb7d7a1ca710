"""Files and arrays: atomic writes, table writers, readers of matrices, checks of arrays."""
