"""How good answers are against a truth: clips, events, intervals and thresholds."""
