"""Sinks of a station: what happens with its events."""
