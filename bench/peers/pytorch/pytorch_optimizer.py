"""Times PyTorch's way from gradients to new weights, for bench/peers/optimizer_vs_pytorch.sh.

    python pytorch_optimizer.py MODEL THREADS ROUNDS

MODEL: bert-large or a model's config.json. A round is clip_grad_norm_, fused AdamW, and a bfloat16 copy of
every weight. Prints JSON: parameters, and medians in seconds.
"""

import json
import pathlib
import statistics
import sys
import time

import torch

BERT_LARGE = {"vocab_size": 30522, "hidden_size": 1024, "num_hidden_layers": 24, "intermediate_size": 4096,
              "max_position_embeddings": 512, "type_vocab_size": 2}


def shapes_of(model):
    """The shapes of BERT's pretraining model: those that decay, those that do not."""
    hidden, inner, vocabulary = model["hidden_size"], model["intermediate_size"], model["vocab_size"]
    decay = [(vocabulary, hidden), (model["max_position_embeddings"], hidden), (model["type_vocab_size"], hidden),
             (hidden, hidden), (hidden, hidden), (2, hidden)]
    spared = [(hidden,)] * 6 + [(vocabulary,), (2,)]
    for _ in range(model["num_hidden_layers"]):
        decay += [(hidden, hidden)] * 4 + [(inner, hidden), (hidden, inner)]
        spared += [(hidden,)] * 9 + [(inner,)]
    return decay, spared


def main():
    model, threads, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    shapes = shapes_of(BERT_LARGE if model == "bert-large" else json.loads(pathlib.Path(model).read_text()))
    groups = [[torch.nn.Parameter(0.05 * torch.rand(shape)) for shape in part] for part in shapes]
    optimizer = torch.optim.AdamW([{"params": groups[0], "weight_decay": 0.01},
                                   {"params": groups[1], "weight_decay": 0.0}],
                                  lr=1e-6, betas=(0.9, 0.98), eps=1e-6, fused=True)
    weights = groups[0] + groups[1]
    compute_weights = [w.detach().bfloat16() for w in weights]
    for w in weights:
        w.grad = torch.zeros_like(w)
    times = []
    for _ in range(rounds + 1):
        with torch.no_grad():
            for w in weights:
                torch.mul(w, 0.01, out=w.grad)
        begin = time.perf_counter()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        clipped = time.perf_counter()
        optimizer.step()
        updated = time.perf_counter()
        with torch.no_grad():
            torch._foreach_copy_(compute_weights, weights)
        copied = time.perf_counter()
        times.append((clipped - begin, updated - clipped, copied - updated, copied - begin))
    clip, update, copy, total = (statistics.median(column) for column in zip(*times[1:]))
    print(json.dumps({"parameters": sum(w.numel() for w in weights), "clip": clip, "update": update,
                      "copy": copy, "total": total}))


main()
