"""An adapter in forms that other programs read.

=================================  =====================================================
:mod:`.arrays`                     JSON or NPZ: adapted prototypes and biases
:mod:`.onnx`                       an ONNX graph: embeddings in, cosines and labels out
:mod:`.c_header`                   a C99 header without dependencies
:mod:`.sentence_transformers`      a folder of modules: Normalize, Dense, Normalize
=================================  =====================================================
"""
