"""CLAP: audio and text encoders trained together."""
