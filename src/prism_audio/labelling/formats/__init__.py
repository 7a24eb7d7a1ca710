"""Events in the forms that other programs read: one file a format.

A format is an object with ``name``, ``suffix``, ``combined`` (whether all recordings go into one file)
and ``write``; those that can be read back as truth also have ``read``. :data:`FORMATS` lists them.
"""

from __future__ import annotations

from prism_audio.labelling.formats.audacity import Audacity
from prism_audio.labelling.formats.base import EventFormat, ReadableFormat, Recording, TimedLabel
from prism_audio.labelling.formats.birdnet import BirdNet
from prism_audio.labelling.formats.kaleidoscope import Kaleidoscope
from prism_audio.labelling.formats.raven import Raven
from prism_audio.labelling.formats.sed import Sed

__all__ = ["FORMATS", "READABLE", "EventFormat", "ReadableFormat", "Recording", "TimedLabel"]

READABLE: dict[str, ReadableFormat] = {f.name: f for f in (Audacity(), Raven(), Sed())}
FORMATS: dict[str, EventFormat] = {**READABLE, **{f.name: f for f in (Kaleidoscope(), BirdNet())}}
