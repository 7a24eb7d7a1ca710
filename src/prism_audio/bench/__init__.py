"""Compare every method on the same embeddings and write a report.

The walk from an experiment to its report, one folder a step:

1. ``experiment``: read the TOML file; conditions (place and SNR) and protocols (who adapts to what).
2. ``embeddings``: find the clips, mix them with noise, embed each condition once.
3. ``trials``: run the methods, score their labels, take PRISM apart, measure rank and cost.
4. ``report``: tables, pictures and sentences, written as Markdown, HTML and Parquet.

``cache`` keeps what was computed, found again by a hash; ``code_digest`` hashes the code it came from.
"""
