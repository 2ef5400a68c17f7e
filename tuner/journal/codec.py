"""A tick's record as bytes and back: msgpack by field name, packed with a dictionary of these names.

A second's record takes some 900 bytes so, and 20 microseconds. ``RECORDS`` says which names the dictionary
has; a reader with another one must not try.
"""

from __future__ import annotations

import hashlib
import zlib

import msgspec

from tuner.records import TickRecord

MOST_BYTES = 4 * 1024 * 1024
"""Most of a record; what comes out larger is damaged."""

LATER = frozenset({"absent_counters", "lacks", "lowest", "outside_stage", "own_limits", "servers", "trial"})
"""Fields with a default that came since: not in the dictionary, so that ticks without them can be read."""

LATER_PARTS = frozenset({"TrialResult", "PairedRatio"})
"""Records that only such fields hold, of which no name is in it."""


class CodecError(ValueError):
    """Bytes that are not what they should be."""


def _names() -> bytes:
    """Return the names of all fields below a record, record by record."""
    _, parts = msgspec.json.schema_components([TickRecord])
    names = [
        name
        for title, part in sorted(parts.items())
        if title not in LATER_PARTS
        for name in part.get("properties", ())
        if name not in LATER
    ]
    return b"".join(map(msgspec.msgpack.encode, names))


_DICTIONARY = _names()
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(TickRecord)

RECORDS = hashlib.sha256(_DICTIONARY).hexdigest()[:16]
"""Fingerprint of the records that this program writes, and the only one that it reads."""


def encode(record: TickRecord) -> bytes:
    """Return a record as bytes."""
    packer = zlib.compressobj(1, zdict=_DICTIONARY)
    return packer.compress(_encoder.encode(record)) + packer.flush()


def decode(blob: bytes) -> TickRecord:
    """Return the record that ``encode`` was given.

    Raises:
        CodecError: the bytes are damaged, or were made from other fields.
    """
    unpacker = zlib.decompressobj(zdict=_DICTIONARY)
    try:
        content = unpacker.decompress(blob, MOST_BYTES)
        if not unpacker.eof or unpacker.unused_data:
            raise CodecError("not a TickRecord: no whole one")
        return _decoder.decode(content)
    except (zlib.error, msgspec.DecodeError, TypeError, UnicodeDecodeError) as error:
        raise CodecError(f"not a TickRecord: {error}") from error
