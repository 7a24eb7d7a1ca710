"""From recordings to answers: batches, calibration, labels, events, drift, the live listener."""
