"""Two hundred uploads that nobody should send: a name for each, and what it is made of."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
from collections.abc import Iterator
from functools import cache

import numpy as np
import soundfile as sf

from tests.helpers.bands import RATE, tone
from tests.helpers.service import wav

Upload = tuple[str, bytes]


def uploads() -> Iterator[Upload]:
    """All of them; the same at every call."""
    for kind in (_truncated, _headers, bombs, _types, _noise, _samples):
        yield from kind()


def _truncated() -> Iterator[Upload]:
    sound = tone(2, 0.5, 0)
    for form, suffix, ends in (
        ("WAV", "wav", (1, 4, 8, 11, 12, 16, 20, 30, 36, 40, 43, 44)),
        ("FLAC", "flac", (1, 3, 4, 8, 20, 30, 41, 42, 60, 80)),
        ("OGG", "ogg", (1, 4, 20, 27, 28, 58, 100, 500, 1500)),
        ("AIFF", "aiff", (1, 4, 11, 12, 20, 30, 38)),
        ("MP3", "mp3", (1, 2, 3, 4, 10)),
        ("CAF", "caf", (1, 4, 8, 30, 50)),
        ("AU", "au", (1, 4, 12, 23)),
        ("RF64", "rf64.wav", (4, 12, 30, 60)),
    ):
        whole = wav(sound, form=form)
        for end in ends:
            yield f"cut-{end}.{suffix}", whole[:end]


def _wav(
    *, tag: int = 1, channels: int = 1, rate: int = 8000, bits: int = 16, data: bytes = bytes(64)
) -> bytes:
    align = channels * bits // 8
    sound = struct.pack(
        "<HHIIHH", tag, channels, rate, rate * align & 0xFFFFFFFF, align & 0xFFFF, bits
    )
    chunks = b"fmt " + struct.pack("<I", 16) + sound + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def _headers() -> Iterator[Upload]:
    good = _wav()
    for rate in (0, 1, 7, 999, 10_000_001, 0xFFFFFFFF):
        yield f"rate-{rate}.wav", _wav(rate=rate)
    for channels in (0, 1025, 65535):
        yield f"channels-{channels}.wav", _wav(channels=channels)
    for bits in (0, 255):
        yield f"bits-{bits}.wav", _wav(bits=bits)
    for tag in (0, 2, 85, 0x7777, 0xFFFF):
        yield f"coding-{tag}.wav", _wav(tag=tag)
    for size in (0, 2, 0x7FFFFFFF, 0xFFFFFFFF):
        yield f"fmt-{size}.wav", good[:16] + struct.pack("<I", size) + good[20:]
    long = b"LIST" + struct.pack("<I", 0xFFFFFFF0)
    yield "endless-list.wav", good[:12] + long + good[12:]
    yield "many-chunks.wav", good[:12] + (b"junk" + bytes(4)) * 50_000
    yield "no-data.wav", good[:36]
    yield "empty-data.wav", _wav(data=b"")
    yield "no-fmt.wav", good[:12] + good[36:]
    for size in (0x7F, 0x0FFFFFFF):
        tag = bytes((size >> shift) & 0x7F for shift in (21, 14, 7, 0))
        yield f"id3-{size}.mp3", b"ID3\4\0\0" + tag + bytes(200)
    flac = wav(tone(2, 0.5, 0), form="FLAC")
    for size in (0, 10, 0xFFFFFF):
        yield f"streaminfo-{size}.flac", flac[:5] + size.to_bytes(3, "big") + flac[8:]
    yield "block.flac", flac[:4] + b"\x04\xff\xff\xff" + bytes(300)
    pages = b"OggS" + bytes(22) + b"\xff" + b"\xff" * 255
    yield "long-page.ogg", pages * 40
    yield "ds64.wav", b"RF64\xff\xff\xff\xffWAVEds64" + struct.pack("<IQQQ", 28, 1, 2**63, 2**63)
    yield "huge.w64", b"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\x00\x00" + b"\xff" * 200
    yield "huge.caf", b"caff\0\1\0\0desc" + struct.pack(">q", 2**62) + bytes(100)
    yield "huge.aiff", b"FORM\xff\xff\xff\xffAIFFCOMM" + struct.pack(">I", 0x7FFFFFFF) + bytes(99)
    yield "huge.au", b".snd" + struct.pack(">IIIII", 0xFFFFFFFF, 0xFFFFFFFF, 3, 8000, 1) + bytes(50)


@cache
def _hours(form: str, subtype: str, rate: int, hours: float) -> bytes:
    file = io.BytesIO()
    with sf.SoundFile(file, "w", rate, 1, subtype, format=form) as sound:
        for _ in range(int(60 * hours)):  # libsndfile crashes when it is given an hour at once
            sound.write(np.zeros(60 * rate, np.float32))
    return file.getvalue()


def bombs() -> Iterator[Upload]:
    """Small files of many hours, and of minutes where hours would take long to make."""
    flac = _hours("FLAC", "PCM_16", 1000, 12)
    ogg = _hours("OGG", "VORBIS", 8000, 0.1)
    yield "12-hours.flac", flac
    yield "6-minutes.ogg", ogg
    yield "3-minutes.opus", _hours("OGG", "OPUS", 8000, 0.05)
    unknown = bytearray(flac)
    unknown[21] &= 0xF0
    unknown[22:26] = bytes(4)
    yield "unknown-length.flac", bytes(unknown)
    for number in range(8):  # the end is missing, the hours before it are not
        yield f"12-hours-cut-{number}.flac", flac[: len(flac) - 1000 * number - 7]
        yield f"6-minutes-cut-{number}.ogg", ogg[: len(ogg) - 100 * number - 7]
    yield "chained.ogg", ogg * 3
    yield "hour.wav", _wav(rate=1000, bits=8, data=bytes(3_600_000))


def _types() -> Iterator[Upload]:
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.wav", bytes(10_000_000))
    yield "bomb.zip", zipped.getvalue()
    yield "bomb.wav.gz", gzip.compress(bytes(10_000_000))
    yield "empty.wav", b""
    texts = {
        "page.html": "<!doctype html><script>alert(1)</script>",
        "list.m3u8": "#EXTM3U\n#EXTINF:9,\nhttp://127.0.0.1:9/secret.ts\n",
        "list.m3u": "file:///etc/passwd\n",
        "list.pls": "[playlist]\nFile1=http://127.0.0.1:9/a.mp3\n",
        "concat.txt": "ffconcat version 1.0\nfile /etc/passwd\n",
        "session.sdp": "v=0\nm=audio 9 RTP/AVP 0\n",
        "data.json": '{"embeddings": [[1]]}',
        "table.csv": "file,label\n",
        "picture.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>",
        "script.py": "print('hello')",
        "manifest.mpd": "<MPD xmlns='urn:mpeg:dash:schema:mpd:2011'/>",
    }
    for name, text in texts.items():
        yield name, text.encode() * 20
    magics = {
        "a.png": b"\x89PNG\r\n\x1a\n",
        "a.jpg": b"\xff\xd8\xff\xe0",
        "a.pdf": b"%PDF-1.7\n",
        "a.elf": b"\x7fELF\2\1\1",
        "a.exe": b"MZ\x90\0",
        "a.class": b"\xca\xfe\xba\xbe",
        "a.sqlite": b"SQLite format 3\0",
        "a.mid": b"MThd\0\0\0\6",
        "a.mp4": b"\0\0\0\x18ftypmp42",
        "a.mkv": b"\x1aE\xdf\xa3",
        "a.avi": b"RIFF\xff\0\0\0AVI ",
        "a.webp": b"RIFF\xff\0\0\0WEBP",
        "a.iff": b"FORM\0\0\1\0008SVX",
        "a.voc": b"Creative Voice File\x1a",
        "a.safetensors": b"\x10\0\0\0\0\0\0\0{}",
        "a.npy": b"\x93NUMPY\1\0",
    }
    for name, magic in magics.items():
        yield name, magic + bytes(500)


def _noise() -> Iterator[Upload]:
    rng = np.random.default_rng(0)
    for number in range(40):
        yield f"noise-{number}.wav", rng.bytes(int(rng.integers(1, 5000)))
    for number, magic in enumerate((b"RIFF\xff\xff\0\0WAVE", b"fLaC", b"OggS", b"FORM") * 5):
        yield f"dressed-{number}.wav", magic + rng.bytes(2000)


def _samples() -> Iterator[Upload]:
    for name, value in (("nan", np.nan), ("infinite", np.inf), ("loud", 1e30), ("integers", 3e4)):
        yield f"{name}.wav", wav(np.full(RATE, value, np.float32), subtype="FLOAT")
