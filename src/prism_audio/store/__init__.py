"""Embeddings of a folder on disk, resumable."""
