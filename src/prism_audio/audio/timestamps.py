"""When a recording began: the time in its file name, or in the comment that an AudioMoth writes.

Field recorders name a file by the moment it begins: ``20240131_063000.WAV`` (AudioMoth),
``SITE_20240131_063000.wav`` (Wildlife Acoustics), ``SITE-20240131T063000+0100.flac``. The first
AudioMoths wrote the seconds since 1970 in hexadecimal (``65B9E2A8.WAV``). A time is aware where the
name or the comment says its zone, else it is naive and means the recorder's own clock.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import PurePath

from prism_audio.audio.container import riff_comment
from prism_audio.audio.source import AudioFile, opened

_IN_NAME = re.compile(
    r"(?<!\d)((?:19|20)\d\d)[-_.]?(\d\d)[-_.]?(\d\d)"
    r"[-_T$ ](\d\d)[-_.:h]?(\d\d)(?:[-_.:m]?(\d\d))?(?!\d)"
    r"(Z|UTC|[+-](?:0\d|1[0-4]):?[0-5]\d(?!\d))?"
)
_IN_COMMENT = re.compile(
    r"Recorded at (\d\d:\d\d:\d\d)(\.\d{3})? (\d\d/\d\d/\d{4}) \(UTC(?:([+-])(\d\d?)(?::?(\d\d))?)?\)"
)
_HEXADECIMAL = re.compile(r"[0-9A-F]{8}")
_FIRST_AUDIOMOTH, _FARTHEST = datetime(2015, 1, 1, tzinfo=UTC), datetime(2038, 1, 1, tzinfo=UTC)


def recording_start(file: AudioFile) -> datetime | None:
    """When a recording began, as its comment or else its name says; None where neither does.

    An open file is known by its ``name``.
    """
    with opened(file) as recording:
        return start_in_comment(riff_comment(recording)) or start_in_name(recording.name)


def start_in_name(name: str) -> datetime | None:
    """The time in a file name.

    >>> start_in_name("SITE_20240131_063000.wav")
    datetime.datetime(2024, 1, 31, 6, 30)
    """
    stem = PurePath(name).stem
    # A name can hold other long numbers first (a serial number), so the last time in it counts.
    for match in reversed(list(_IN_NAME.finditer(stem))):
        *numbers, zone = match.groups(default="")
        year, month, day, hour, minute, second = (int(number or 0) for number in numbers)
        try:
            return datetime(year, month, day, hour, minute, second, tzinfo=_zone(zone))
        except ValueError:  # the 31st of February: these digits mean something else
            continue
    if _HEXADECIMAL.fullmatch(stem):
        moment = datetime.fromtimestamp(int(stem, 16), UTC)
        return moment if _FIRST_AUDIOMOTH <= moment < _FARTHEST else None
    return None


def start_in_comment(comment: str) -> datetime | None:
    """The time in the comment of an AudioMoth, always aware.

    >>> start_in_comment("Recorded at 06:30:00 31/01/2024 (UTC+1) by AudioMoth 24F3190").isoformat()
    '2024-01-31T06:30:00+01:00'
    """
    if (match := _IN_COMMENT.search(comment)) is None:
        return None
    clock, fraction, day, sign, hours, minutes = match.groups(default="")
    zone = _zone(f"{sign}{hours:0>2}{minutes or '00'}" if sign else "Z")
    try:
        moment = datetime.strptime(f"{clock}{fraction or '.000'} {day}", "%H:%M:%S.%f %d/%m/%Y")
    except ValueError:
        return None
    return moment.replace(tzinfo=zone)


def _zone(text: str) -> tzinfo | None:
    if text in ("", "Z", "UTC"):
        return UTC if text else None
    offset = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(-offset if text[0] == "-" else offset)
