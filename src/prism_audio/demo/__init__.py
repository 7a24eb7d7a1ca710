"""The demonstrations behind ``prism demo``, and the data they ship with."""
