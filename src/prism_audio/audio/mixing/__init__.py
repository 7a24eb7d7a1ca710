"""Noisy recordings made on purpose: a sound put into a background at a stated SNR."""
