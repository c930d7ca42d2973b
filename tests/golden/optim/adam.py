"""Five steps of torch.optim.AdamW in double precision, with clipping, on a small arena.

Writes adam.csv: one row an element: decay,initial,gradient of steps 1..5,weight after step 5.
"""
import csv
import pathlib

import torch

LEARNING_RATES = [1e-3, 2e-3, 3e-3, 2e-3, 1e-3]
MAX_NORM = 1.0
GRADIENT_SCALE = 0.5
SIZES = [(37, True), (5, False), (11, False), (40, True), (7, False)]


def main():
    torch.manual_seed(7)
    tensors = [torch.randn(n, dtype=torch.float64).float().double() for n, _ in SIZES]
    parameters = [torch.nn.Parameter(t.clone()) for t in tensors]
    groups = [
        {"params": [p for p, (_, d) in zip(parameters, SIZES) if d], "weight_decay": 0.01},
        {"params": [p for p, (_, d) in zip(parameters, SIZES) if not d], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=1.0, betas=(0.8, 0.9), eps=1e-9)
    gradients = []
    for step, rate in enumerate(LEARNING_RATES):
        for group in optimizer.param_groups:
            group["lr"] = rate
        # The second step is small enough not to be clipped.
        size = 0.01 if step == 1 else 1.0
        gradients.append([(size * torch.randn_like(p)).float().double() for p in parameters])
        for p, g in zip(parameters, gradients[-1]):
            p.grad = g * GRADIENT_SCALE
        norm = torch.sqrt(sum((p.grad ** 2).sum() for p in parameters))
        for p in parameters:
            p.grad *= min(1.0, (MAX_NORM / norm).item())
        optimizer.step()
    with pathlib.Path(__file__).with_name("adam.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for t, (n, decay) in enumerate(SIZES):
            for i in range(n):
                row = [int(decay), tensors[t][i].item(), *(g[t][i].item() for g in gradients)]
                writer.writerow([*row, parameters[t][i].item()])


main()
