"""The bench: every method on the same embeddings, under every condition and protocol.

``config`` reads an experiment; ``conditions`` and ``embeddings`` make its noisy embeddings once;
``protocol``, ``ablation`` and ``runner`` try the methods; ``tables``, ``figures`` and ``report`` tell
what came out. ``cache`` keeps whatever was computed.
"""
