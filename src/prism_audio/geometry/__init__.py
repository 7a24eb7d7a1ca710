"""The geometry of PRISM: arrays in, arrays out, one operator a file, the paper's symbols.

========================  ===========================================================
:mod:`.sphere`            unit rows, pseudo-labels, confidence gates, class sums
:mod:`.opca`              Orthogonal Procrustes Cross-modal Alignment
:mod:`.ccvd`              Class-Conditioned Variance Deflation
:mod:`.soft`              soft deflation: the same idea as a gain instead of a cut
:mod:`.pct`               Per-Class Residual Translation
:mod:`.car`               Confidence-Aware Regression
:mod:`.abr`               Affine Bias Regression: the compilation into one matrix
:mod:`.shift`             what a place adds to every clip, found with what was heard
:mod:`.frame`             one eigendecomposition a batch, and the whitening by any classes in it
:mod:`.balance`           class biases that give every class its share, to start from
:mod:`.compose`           the map composed of its parts in soft rounds
:mod:`.repeats`           how many independent clips a batch is worth
:mod:`.graded`            the calibration of ``default``: as large as its evidence, part by part
:mod:`.parameters`        every constant, and a switch for every component
:mod:`.calibrate`         Algorithm 1, the loop that strings them together
:mod:`.guard`             how much of the result may be used, decided without labels
:mod:`.confidence`        probabilities and the threshold for "unknown"
:mod:`.released`          what the authors' public script computes, for comparison
========================  ===========================================================

Nothing here imports anything but NumPy and SciPy.
"""
