#!/usr/bin/env python3
"""Writes data/text/unicode_ages.h: the characters that are newer than Unicode 9.0, and since which version they are.

    pip install unicodedataplus==16.0.0.post1 && scripts/developing/unicode_ages.py

The ages are Unicode's property Age (DerivedAge.txt), as unicodedataplus has it. Run from the root of the source tree.
"""

import subprocess

import unicodedataplus

OLDEST = (9, 0)
PATH = "data/text/unicode_ages.h"


def age_of(code_point):
    """The version that assigned a character after OLDEST; None for older and unassigned ones."""
    if unicodedataplus.category(chr(code_point)) == "Cn":
        return None
    age = tuple(int(part) for part in unicodedataplus.age(chr(code_point)).split("."))
    return age if age > OLDEST else None


def main():
    ranges = []
    for code_point in range(0x110000):
        age = age_of(code_point)
        if ranges and ranges[-1][1:] == [code_point - 1, age]:
            ranges[-1][1] = code_point
        elif age:
            ranges.append([code_point, code_point, age])
    rows = "".join(
        f"    {{0x{first:04X}, 0x{last:04X}, {{{major}, {minor}}}}},\n" for first, last, (major, minor) in ranges
    )
    with open(PATH, "w") as out:
        out.write(
            f"""// Characters newer than Unicode {OLDEST[0]}.{OLDEST[1]}, from the property Age of Unicode {unicodedataplus.unidata_version}.
// Written by scripts/developing/unicode_ages.py.
#pragma once

#include "data/text/unicode_version.h"

namespace strata::data {{

// [first, last] are assigned since `since`; in order of code point.
struct AgeRange {{
  char32_t first, last;
  UnicodeVersion since;
}};

inline constexpr AgeRange kNewerCharacters[] = {{
{rows}}};

}}  // namespace strata::data
"""
        )
    subprocess.run(["clang-format", "-i", PATH], check=True)


if __name__ == "__main__":
    main()
