"""Mix sounds with background noise at a stated signal-to-noise ratio (SNR)."""
