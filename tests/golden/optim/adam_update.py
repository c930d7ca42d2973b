#!/usr/bin/env python3
"""Four AdamW steps by PyTorch in double precision. Needs torch; writes adam_update.json beside itself.

Hyperparameters are floats, as in the Backend contract. The gradient of a step is scaled by
min(1, max_norm / norm) before PyTorch sees it; the last step's is small enough not to be.
"""

import json
import pathlib

import torch


def as_float(value):
    return torch.tensor(value, dtype=torch.float32).item()


def main():
    generator = torch.Generator().manual_seed(5)
    size = 9
    settings = {"learning_rate": as_float(0.01), "beta1": as_float(0.8), "beta2": as_float(0.82),
                "epsilon": as_float(1e-6), "weight_decay": as_float(0.03), "max_norm": 1.0,
                "gradient_scale": 0.25}
    weights = torch.randn(size, generator=generator, dtype=torch.float64).requires_grad_()
    golden = {"settings": settings, "initial_weights": weights.tolist(), "steps": []}
    optimizer = torch.optim.AdamW([weights], lr=settings["learning_rate"],
                                  betas=(settings["beta1"], settings["beta2"]),
                                  eps=settings["epsilon"], weight_decay=settings["weight_decay"])
    for size_of_gradient in (3.0, 1.0, 2.0, 0.1):
        gradient = size_of_gradient * torch.randn(size, generator=generator, dtype=torch.float64)
        norm = gradient.norm().item()
        scale = settings["gradient_scale"] * min(1.0, settings["max_norm"] / norm)
        weights.grad = scale * gradient
        optimizer.step()
        state = optimizer.state[weights]
        golden["steps"].append({
            "gradient": gradient.tolist(), "weights": weights.tolist(),
            "first_moment": state["exp_avg"].tolist(),
            "second_moment": state["exp_avg_sq"].tolist()})
    path = pathlib.Path(__file__).with_name("adam_update.json")
    path.write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
