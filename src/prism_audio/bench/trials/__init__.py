"""Run methods on embeddings and score the labels they give."""
