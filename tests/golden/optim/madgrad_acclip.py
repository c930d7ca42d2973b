#!/usr/bin/env python3
"""Five steps of MADGRAD and of ACClip in double precision. Needs numpy, torch and madgrad 1.3; writes madgrad.json, acclip.json.

MADGRAD is its authors' own package, with decoupled weight decay; it adds epsilon to the rate, which is taken off before.
ACClip follows Zhang et al., arXiv 1912.03194, algorithm 2, with decoupled weight decay. A step's gradient is scaled by
gradient_scale * min(1, max_norm / norm); the second step's is small enough not to be clipped. The second segment does
not decay; the third has no gradient in the first step.
"""

import json
import pathlib

import madgrad
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


def run_madgrad(seed, settings):
    weights, gradients = problem(seed)
    parts = [torch.tensor(part, dtype=torch.float64, requires_grad=True) for part in cut(weights)]
    groups = [{"params": [part], "weight_decay": settings["weight_decay"] * decays}
              for part, (_, decays) in zip(parts, SEGMENTS)]
    optimizer = madgrad.MADGRAD(groups, lr=1.0, momentum=settings["momentum"], eps=settings["epsilon"],
                                decouple_decay=True)
    steps = []
    for rate, gradient in zip(RATES, gradients):
        for group, part, of_part in zip(optimizer.param_groups, parts, cut(clipped(gradient))):
            group["lr"] = rate - settings["epsilon"]
            part.grad = torch.tensor(of_part)
        optimizer.step()
        steps.append(np.concatenate([part.detach().numpy() for part in parts]).tolist())
    return [{"steps": steps}]


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
    settings = {"momentum": 0.8, "epsilon": 1e-6, "weight_decay": 0.05}
    write("madgrad", 11, settings, run_madgrad(11, settings))
    settings = {"beta1": 0.8, "beta2": 0.9, "epsilon": 1e-6, "weight_decay": 0.05}
    write("acclip", 12, settings, [run_acclip(12, settings, alpha) for alpha in ALPHAS])


if __name__ == "__main__":
    main()
