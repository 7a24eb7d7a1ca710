"""Sound on its way to an encoder: decoding, windows; and noisy mixtures made on purpose."""
