"""What a calibration learns: the estimator, its presets, the adapter file and its facts."""
