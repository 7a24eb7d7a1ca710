"""Experiments: the TOML file, its conditions and its protocols."""
