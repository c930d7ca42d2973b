#!/usr/bin/env python3
"""Five steps of MADGRAD, ACClip and SGD in double precision. Writes madgrad.json, acclip.json, sgd.json, or those of the names given.
Needs numpy and torch; for MADGRAD madgrad 1.3.

SGD is torch.optim.SGD. MADGRAD is its authors' own package, with decoupled weight decay; it adds epsilon to the rate, which is taken off before.
ACClip follows Zhang et al., arXiv 1912.03194, algorithm 2, with decoupled weight decay. A step's gradient is scaled by
gradient_scale * min(1, max_norm / norm); the second step's is small enough not to be clipped. The second segment does
not decay; the third has no gradient in the first step.
"""

import json
import pathlib
import sys

import numpy as np
import torch

RATES = [1e-2, 2e-2, 3e-2, 2e-2, 1e-2]
SEGMENTS = [(150, True), (40, False), (110, True)]
SCALE, MAX_NORM = 0.5, 2.0
ALPHAS = [1.0, 1.5, 2.0]
HERE = pathlib.Path(__file__).parent


def drawn(generator, size, scale=1.0):
    """Normal, of few digits."""
    return np.round(scale * generator.standard_normal(size), 4)


def problem(seed):
    generator = np.random.default_rng(seed)
    size = sum(size for size, _ in SEGMENTS)
    weights = drawn(generator, size)
    gradients = [drawn(generator, size, 0.002 if step == 1 else 1.0) for step in range(len(RATES))]
    gradients[0][190:] = 0
    return weights, gradients


def clipped(gradient):
    return SCALE * min(1.0, MAX_NORM / np.linalg.norm(gradient)) * gradient


def cut(values):
    return np.split(values, np.cumsum([size for size, _ in SEGMENTS])[:-1])


def write(name, seed, settings, runs):
    weights, gradients = problem(seed)
    golden = {"settings": {"gradient_scale": SCALE, "max_norm": MAX_NORM, **settings}, "rates": RATES,
              "segments": SEGMENTS, "weights": weights.tolist(), "gradients": [g.tolist() for g in gradients],
              "runs": runs}
    (HERE / f"{name}.json").write_text(json.dumps(golden) + "\n")


def run_torch(seed, settings, make, less_rate=0.0):
    """The weights after every step of the optimizer that make(groups) returns."""
    weights, gradients = problem(seed)
    parts = [torch.tensor(part, dtype=torch.float64, requires_grad=True) for part in cut(weights)]
    groups = [{"params": [part], "weight_decay": settings["weight_decay"] * decays}
              for part, (_, decays) in zip(parts, SEGMENTS)]
    optimizer = make(groups)
    steps = []
    for rate, gradient in zip(RATES, gradients):
        for group, part, of_part in zip(optimizer.param_groups, parts, cut(clipped(gradient))):
            group["lr"] = rate - less_rate
            part.grad = torch.tensor(of_part)
        optimizer.step()
        steps.append(np.concatenate([part.detach().numpy() for part in parts]).tolist())
    return steps


def run_madgrad(seed, settings):
    import madgrad

    def make(groups):
        return madgrad.MADGRAD(groups, lr=1.0, momentum=settings["momentum"], eps=settings["epsilon"], decouple_decay=True)
    return [{"steps": run_torch(seed, settings, make, less_rate=settings["epsilon"])}]


def run_sgd(seed, settings, momentum):
    steps = run_torch(seed, settings, lambda groups: torch.optim.SGD(groups, lr=1.0, momentum=momentum))
    return {"momentum": momentum, "steps": steps}


def run_acclip(seed, settings, alpha):
    weights, gradients = problem(seed)
    decay = np.concatenate([np.full(size, settings["weight_decay"] * decays) for size, decays in SEGMENTS])
    m, power = np.zeros_like(weights), np.zeros_like(weights)
    steps = []
    for rate, gradient in zip(RATES, gradients):
        g = clipped(gradient)
        m = settings["beta1"] * m + (1 - settings["beta1"]) * g
        power = settings["beta2"] * power + (1 - settings["beta2"]) * np.abs(g) ** alpha
        share = np.minimum(power ** (1 / alpha) / (np.abs(m) + settings["epsilon"]), 1)
        weights = weights - rate * (share * m + decay * weights)
        steps.append(weights.tolist())
    return {"alpha": alpha, "steps": steps}


def main():
    names = sys.argv[1:] or ["madgrad", "acclip", "sgd"]
    if "madgrad" in names:
        settings = {"momentum": 0.8, "epsilon": 1e-6, "weight_decay": 0.05}
        write("madgrad", 11, settings, run_madgrad(11, settings))
    if "acclip" in names:
        settings = {"beta1": 0.8, "beta2": 0.9, "epsilon": 1e-6, "weight_decay": 0.05}
        write("acclip", 12, settings, [run_acclip(12, settings, alpha) for alpha in ALPHAS])
    if "sgd" in names:
        settings = {"weight_decay": 0.05}
        write("sgd", 13, settings, [run_sgd(13, settings, momentum) for momentum in (0.9, 0.0)])


if __name__ == "__main__":
    main()
