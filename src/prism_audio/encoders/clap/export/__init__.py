"""Write a CLAP model as ONNX files (needs PyTorch, transformers and onnx)."""
