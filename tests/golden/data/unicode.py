"""Adds to unicode.json what Python's Unicode makes of every character, as BERT's tokenizer asks.

    for version in 3.6 3.7 3.8 3.9 3.11 3.12; do python$version tests/golden/data/unicode.py; done

Python 3.6 has Unicode 9.0, as the MLPerf reference; the others 11.0, 12.1, 13.0, 14.0 and 15.0. For each 16,384 code
points there is the 64-bit FNV-1a of a line each: whether it is a space, dropped, punctuation; its lower case without
accents in hexadecimal; whether a capital sigma behind it, and behind it and an "a", is final. Then there is one of the
words that `words` makes, lower-cased and without accents: what marks and sigmas do to each other. Run from the root of
the source tree.
"""

import json
import os
import unicodedata

PATH = "tests/golden/data/unicode.json"
BLOCK = 0x4000
WORDS = 100000
CAPITAL_SIGMA, FINAL_SIGMA = "\u03a3", "\u03c2"


def is_dropped(character):
    if character in "\t\n\r":
        return False
    return character in "\0\ufffd" or unicodedata.category(character) in ("Cc", "Cf")


def is_punctuation(character):
    code = ord(character)
    is_ascii_symbol = 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
    return is_ascii_symbol or unicodedata.category(character).startswith("P")


def plain(text):
    decomposed = unicodedata.normalize("NFD", text.lower())
    return ".".join("%X" % ord(c) for c in decomposed if unicodedata.category(c) != "Mn")


def line(character):
    flags = [character.isspace(), is_dropped(character), is_punctuation(character)]
    finals = [(before + character + CAPITAL_SIGMA).lower()[-1] == FINAL_SIGMA for before in ("", "a")]
    digits = ["".join("01"[flag] for flag in some) for some in (flags, finals)]
    return "%s %s %s\n" % (digits[0], plain(character), digits[1])


def words(count):
    """Words of 2 to 8 characters: sigmas, letters, apostrophes, accents, any of U+0300 to U+1FFF, U+10000 to U+1FFFF."""
    state = 1
    for _ in range(count):
        drawn = []
        for _ in range(18):
            state = (1103515245 * state + 12345) & 0x7FFFFFFF
            drawn.append(state >> 8)
        ranges = [
            (0x3A3, 1),
            (0x3A3, 1),
            (0x61, 26),
            (0x27, 1),
            (0x300, 0x70),
            (0x300, 0x1D00),
            (0x10000, 0x10000),
            (0x10000, 0x10000),
        ]
        pairs = list(zip(drawn[2::2], drawn[3::2]))[: 2 + drawn[0] % 7]
        yield "".join(
            chr(first + offset % size)
            for (first, size), offset in ((ranges[kind % 8], offset) for kind, offset in pairs)
        )


def fnv1a(data):
    digest = 0xCBF29CE484222325
    for byte in data:
        digest = (digest ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return "%016x" % digest


def main():
    golden = {}
    if os.path.exists(PATH):
        with open(PATH) as file:
            golden = json.load(file)
    blocks = []
    for first in range(0, 0x110000, BLOCK):
        characters = [chr(code) for code in range(first, first + BLOCK) if not 0xD800 <= code < 0xE000]
        blocks.append(fnv1a("".join(map(line, characters)).encode()))
    golden[".".join(unicodedata.unidata_version.split(".")[:2])] = {
        "blocks": blocks,
        "words": fnv1a("".join(plain(word) + "\n" for word in words(WORDS)).encode()),
    }
    with open(PATH, "w") as file:
        json.dump(golden, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
