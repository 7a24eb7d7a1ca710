"""Sound on its way to an encoder: decoding, live input, windows; and noisy mixtures for tests."""
