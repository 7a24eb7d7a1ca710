"""Embeddings of a dataset under every condition of an experiment."""
