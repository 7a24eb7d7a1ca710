"""The HTTP service: labels for recordings and streams, calibration of places, and a page.

>>> from prism_audio.serve.app import create_app           # doctest: +SKIP
>>> app = create_app(ServiceSettings(adapters=("site.safetensors",)))   # doctest: +SKIP

A request goes one way: ``access`` (may it?), ``admission`` (is there room?), ``uploads`` (bytes to a
temporary file, counted), ``hearing`` (decoding and embedding on threads, in batches shared by all
requests, ``tower``), ``answers`` (labels). Calibrations are ``jobs`` in a process of their own.
"""
