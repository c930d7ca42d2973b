#!/usr/bin/env python3
"""Five steps of LAMB in double precision over several tensors. Needs numpy; writes lamb.json.

Follows You et al., "Large Batch Optimization for Deep Learning" (2020), algorithm 2, with bias correction.
The gradient of a step is scaled by gradient_scale * min(1, max_norm / norm); the second step's is small enough
not to be clipped. The last two tensors that decay have a trust ratio of 1: the weights of one, and the update of
the other, are zero at first.
"""

import json
import pathlib

import numpy as np

SETTINGS = {"beta1": 0.8, "beta2": 0.9, "epsilon": 1e-6, "weight_decay": 0.01, "gradient_scale": 0.5, "max_norm": 2.0}
RATES = [1e-2, 2e-2, 3e-2, 2e-2, 1e-2]
# Elements and whether the tensor decays.
TENSORS = [(300, True), (7, False), (31, True), (1, True), (64, False), (129, True), (3, True), (2, True)]
ZERO_WEIGHTS, ZERO_UPDATE = 6, 7


class Tensor:
    def __init__(self, weights, decay):
        self.weights = weights
        self.decay = decay
        self.m = np.zeros_like(weights)
        self.v = np.zeros_like(weights)

    def update(self, gradient, rate, step):
        beta1, beta2 = SETTINGS["beta1"], SETTINGS["beta2"]
        self.m = beta1 * self.m + (1 - beta1) * gradient
        self.v = beta2 * self.v + (1 - beta2) * np.square(gradient)
        direction = (self.m / (1 - beta1**step)) / (np.sqrt(self.v / (1 - beta2**step)) + SETTINGS["epsilon"])
        ratio = 1.0
        if self.decay:
            direction = direction + SETTINGS["weight_decay"] * self.weights
            norms = np.linalg.norm(self.weights), np.linalg.norm(direction)
            if min(norms) > 0:
                ratio = norms[0] / norms[1]
        self.weights = self.weights - rate * ratio * direction


def drawn(generator, size, scale=1.0):
    """Normal, of few digits."""
    return np.round(scale * generator.standard_normal(size), 4)


def main():
    generator = np.random.default_rng(7)
    initial = [drawn(generator, size) for size, _ in TENSORS]
    initial[ZERO_WEIGHTS][:] = 0
    initial[ZERO_UPDATE][:] = 0
    tensors = [Tensor(weights, decay) for weights, (_, decay) in zip(initial, TENSORS)]
    golden = {"settings": SETTINGS, "decay": [decay for _, decay in TENSORS],
              "weights": [w.tolist() for w in initial], "steps": []}
    for step, rate in enumerate(RATES, start=1):
        gradients = [drawn(generator, size, 0.002 if step == 2 else 1.0) for size, _ in TENSORS]
        gradients[ZERO_UPDATE][:] = 0
        norm = np.sqrt(sum(np.square(g).sum() for g in gradients))
        scale = SETTINGS["gradient_scale"] * min(1.0, SETTINGS["max_norm"] / norm)
        for tensor, gradient in zip(tensors, gradients):
            tensor.update(scale * gradient, rate, step)
        golden["steps"].append({"rate": rate, "gradients": [g.tolist() for g in gradients],
                                "weights": [t.weights.tolist() for t in tensors]})
    pathlib.Path(__file__).with_name("lamb.json").write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
