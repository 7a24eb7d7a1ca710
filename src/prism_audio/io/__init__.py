"""Files and arrays: atomic writes, locks, cache folder, tables, matrices, checks of arrays."""
