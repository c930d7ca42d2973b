"""Prints what tests/data/text/python_random_test.cc expects: numbers of random.Random.

  python python_random.py
"""

import random

for seed in (0, 12345, 2**40 + 7):
    rng = random.Random(seed)
    words = [rng.getrandbits(32) for _ in range(3)]
    for _ in range(2000):
        rng.getrandbits(32)
    items = list(range(8))
    rng.shuffle(items)
    print(seed, words, rng.random().hex(), rng.randint(-3, 500), [rng.randrange(n) for n in (1, 2, 3, 4, 30522)],
          items, rng.random() < 0.5)
