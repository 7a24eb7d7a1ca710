"""Recordings to embeddings: decoding, windows and batches, one engine for every caller."""
