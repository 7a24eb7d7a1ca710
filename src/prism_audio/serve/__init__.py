"""The HTTP service: labels for recordings and streams, calibration of places, and a page.

>>> from prism_audio.serve.app import create_app           # doctest: +SKIP
>>> app = create_app(ServiceSettings(adapters=("site.safetensors",)))   # doctest: +SKIP

The way of a request: ``middleware`` (access, headers, log), ``routes_recordings``, ``uploads`` (bytes
to a temporary file), ``embed_recording`` (decode and embed on threads, in batches that all requests
share, ``embedding_queue``), the labeller of the site, ``recording_schemas`` (the answer). Calibrations
are ``jobs``, each in a process of its own (``calibration_process``).
"""
