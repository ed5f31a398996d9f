"""Strings in Avro container files whose blocks are not compressed, changed byte by byte."""

from __future__ import annotations

import json

MAGIC = b"Obj\x01"
SYNC = 16


def number(value: int) -> bytes:
    """A count or length as Avro has it, which is not negative."""
    value, out = value << 1, bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def number_at(data: bytes, at: int) -> tuple[int, int]:
    """A number that is not negative, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value >> 1, at


def string(text: bytes) -> bytes:
    return number(len(text)) + text


def replaced(file: bytes, old: str, new: str) -> bytes:
    """The file with `new` for `old` in the strings that are a JSON object, or that are `old` alone."""
    sync = file[-SYNC:]
    head, *blocks = file.split(sync)
    out = [head]
    for block in filter(None, blocks):
        count, at = number_at(block, 0)
        size, at = number_at(block, at)
        assert len(block) == at + size, "a block that is compressed or has the marker inside"
        content = in_json(block[at:].replace(string(old.encode()), string(new.encode())), old, new)
        out.append(number(count) + number(len(content)) + content)
    return sync.join([*out, b""])


def in_json(content: bytes, old: str, new: str) -> bytes:
    start = content.find(b'{"type":"record"')
    if start < 0:
        return content
    _, length = json.JSONDecoder().raw_decode(content[start:].decode("latin-1"))
    schema = content[start : start + length]
    changed = schema.replace(old.encode(), new.encode())
    assert content[:start].endswith(number(length))
    return content[: start - len(number(length))] + string(changed) + content[start + length :]
