#!/usr/bin/env python3
"""Prints the TensorBoard event files under a folder as JSON, {run: {tag: [[time, step, value], ...]}}: tfevents.py FOLDER

--tensorboard uses TensorBoard's own reader. Otherwise a small reader here checks every checksum."""

import json
import os
import struct
import sys

folder, own = sys.argv[1], "--tensorboard" not in sys.argv
table = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
    table.append(n)


def masked(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        length, crc = struct.unpack_from("<QI", data, at)
        assert crc == masked(data[at : at + 8]), "checksum of a length"
        record = data[at + 12 : at + 12 + length]
        (crc,) = struct.unpack_from("<I", data, at + 12 + length)
        assert len(record) == length and crc == masked(record), "checksum of a record"
        yield record
        at += 16 + length


def fields(message):
    at = 0

    def varint():
        nonlocal at
        number = shift = 0
        while True:
            byte = message[at]
            at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    found = {}
    while at < len(message):
        tag = varint()
        if tag & 7 == 0:
            value = varint()
        else:
            size = {1: 8, 5: 4}.get(tag & 7) or varint()
            value = message[at : at + size]
            at += size
        found[tag >> 3] = value
    return found


def by_hand(folder, names):
    scalars = {}
    for name in sorted(names):
        data = open(os.path.join(folder, name), "rb").read()
        events = [fields(record) for record in records(data)]
        assert events[0][3] == b"brain.Event:2"
        for event in events[1:]:
            step = event.get(2, 0)
            if 7 in event:
                assert fields(event[7])[1] == 1, "no start of a session"
                for points in scalars.values():
                    points[:] = [point for point in points if point[1] < step]
                continue
            value = fields(fields(event[5])[1])
            scalars.setdefault(value[1].decode(), []).append(
                [struct.unpack("<d", event[1])[0], step - (1 << 64 if step >> 63 else 0), struct.unpack("<f", value[2])[0]]
            )
    return scalars


def by_tensorboard(folder, _):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(folder, size_guidance={"scalars": 0})
    accumulator.Reload()
    return {tag: [[e.wall_time, e.step, e.value] for e in accumulator.Scalars(tag)] for tag in accumulator.Tags()["scalars"]}


runs = {}
for path, _, names in os.walk(folder):
    names = [name for name in names if "tfevents" in name]
    if names:
        runs[os.path.relpath(path, folder)] = (by_hand if own else by_tensorboard)(path, names)
print(json.dumps(runs, sort_keys=True))
