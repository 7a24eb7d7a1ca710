"""Datasets of recordings: plain folders, and ESC-50, UrbanSound8K and TAU 2019 as published."""
