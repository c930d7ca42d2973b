"""Writes pretraining_instances.json: what MLPerf's recipe for BERT instances makes of a synthetic corpus.

  python pretraining_instances.py

An independent rendition of the recipe, which works on lengths alone; the test makes the same corpus, and
compares the distributions, since the random numbers differ.
"""

import json
import math
import pathlib
import random

MAX_LENGTH = 128
MAX_PREDICTIONS = 20
MASKED_SHARE = 0.15
SHORT_SHARE = 0.1
PASSES = 2000
BINS = 8


def corpus():
    """Sentence lengths of 40 documents; the test has the same formulas."""
    return [[3 + (37 * d + 17 * s * s) % 40 for s in range(1 + (13 * d) % 30)] for d in range(40)]


def cut_document(documents, number, rng):
    """Yields (tokens of the first segment, tokens of the second, second is random)."""
    document = documents[number]
    room = MAX_LENGTH - 3
    target = rng.randint(2, room) if rng.random() < SHORT_SHARE else room
    position = 0
    while position < len(document):
        chunk = []
        while position < len(document) and (not chunk or sum(chunk) < target):
            chunk.append(document[position])
            position += 1
        half = rng.randint(1, len(chunk) - 1) if len(chunk) > 1 else 1
        first = sum(chunk[:half])
        is_random = len(chunk) == 1 or rng.random() < 0.5
        if is_random:
            other = number
            for _ in range(10):
                other = rng.randrange(len(documents))
                if other != number:
                    break
            start = rng.randrange(len(documents[other]))
            second = 0
            for length in documents[other][start:]:
                second += length
                if second >= target - first:
                    break
            position -= len(chunk) - half
        else:
            second = sum(chunk[half:])
        while first + second > room:
            if first > second:
                first -= 1
            else:
                second -= 1
        yield first, second, is_random


def main():
    rng = random.Random(1)
    documents = corpus()
    counts, lengths, firsts, masked, randoms = [], [], [], 0, 0
    for _ in range(PASSES):
        before = len(lengths)
        for number in range(len(documents)):
            for first, second, is_random in cut_document(documents, number, rng):
                lengths.append(first + second + 3)
                firsts.append(first + 2)
                masked += min(MAX_PREDICTIONS, max(1, round(lengths[-1] * MASKED_SHARE)))
                randoms += is_random
        counts.append(len(lengths) - before)
    instances = len(lengths)
    histogram = [0] * BINS
    for length in lengths:
        histogram[(length - 1) * BINS // MAX_LENGTH] += 1

    def mean_and_deviation(values):
        mean = sum(values) / len(values)
        return mean, math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))

    golden = {
        "instances_a_pass": mean_and_deviation(counts),
        "length": mean_and_deviation(lengths),
        "first_length": mean_and_deviation(firsts),
        "mean_masked": masked / instances,
        "random_share": randoms / instances,
        "histogram": [count / instances for count in histogram],
    }
    path = pathlib.Path(__file__).parent / "pretraining_instances.json"
    path.write_text(json.dumps(golden, indent=2) + "\n")


if __name__ == "__main__":
    main()
