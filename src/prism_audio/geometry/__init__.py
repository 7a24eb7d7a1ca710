"""The geometry of PRISM: arrays in, arrays out, one operator a file, the paper's symbols.

========================  ===========================================================
:mod:`.sphere`            unit rows, pseudo-labels, confidence gates, class sums
:mod:`.opca`              Orthogonal Procrustes Cross-modal Alignment
:mod:`.ccvd`              Class-Conditioned Variance Deflation
:mod:`.soft`              soft deflation: the same idea as a gain instead of a cut
:mod:`.pct`               Per-Class Residual Translation
:mod:`.car`               Confidence-Aware Regression
:mod:`.abr`               Affine Bias Regression: the compilation into one matrix
:mod:`.compose`           the map composed of its parts in soft rounds: the core of ``default``
:mod:`.parameters`        every constant, and a switch for every component
:mod:`.calibrate`         Algorithm 1, the loop that strings them together
:mod:`.guard`             whether the result may be used, decided without labels
:mod:`.released`          what the authors' public script computes, for comparison
========================  ===========================================================

Nothing here imports anything but NumPy and SciPy.
"""
