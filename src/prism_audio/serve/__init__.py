"""The HTTP service: labels for recordings and streams, calibration of places, and a page.

>>> from prism_audio.serve.app import create_app           # doctest: +SKIP
>>> app = create_app(ServiceSettings(adapters=("site.safetensors",)))   # doctest: +SKIP

The way of a request: ``middleware`` (access, slots, headers, log), ``routes_classify``, ``uploads``
(bytes to recordings), ``embedding`` (decode and embed on threads, in batches that all requests share,
each sound once: ``row_cache``), the labeller of the site, and the answer. Calibrations are ``jobs``,
each in a process of its own (``calibration_process``).
"""
