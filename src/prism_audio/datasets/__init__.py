"""Recordings in folders, and their embeddings on disk.

``folder`` finds recordings; ``embed`` turns them into embeddings, many at a time; ``store`` reads
embeddings from disk; ``update`` brings a store up to date with a folder.
"""
