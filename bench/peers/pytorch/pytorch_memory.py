"""Checks that the memory that a program of bench/peers needs on processors is available. If it is not, prints one line with both
figures and exits with 1. Needs no PyTorch.
Usage: pytorch_memory.py pytorch-step MODEL LENGTHS [--sorted] [--precision bf16|fp32] [--variant eager|compiled]
       pytorch_memory.py strata-step MODEL LENGTHS [--precision bf16|fp32] [--ranks N]
       pytorch_memory.py optimizer MODEL
       pytorch_memory.py cosines MODEL [--layers N]
pytorch-step: pytorch_step.py; strata-step: `strata bench step`; optimizer: an update by either program; cosines: pytorch_update_cosines.py.
MODEL: bert-large, minilm or a config.json. LENGTHS: a file with batches of lengths (JSON), or NxL: N sequences of L tokens.
An estimate adds up parameters, gradients, moments and activations, by their shapes.
The available memory is MemAvailable of /proc/meminfo, or less if a control group (version 1 or 2) limits it.
$STRATA_MEMORY_ROOT: folder whose files are read in place of those of / (for tests)."""
import argparse
import json
import os
import pathlib
import re
import sys

MODELS = {"bert-large": {"vocab_size": 30522, "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
                         "intermediate_size": 4096},
          "minilm": {"vocab_size": 30522, "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12,
                     "intermediate_size": 1536, "attention_probs_dropout_prob": 0}}
PYTORCH_ALONE = 1_000_000_000  # bytes of a process that has imported torch and transformers
SCORE = {"eager": 26, "compiled": 10}  # measured bytes that backward reads for an attention score
COMPILER = 1_000_000_000  # bytes that torch.compile and its workers take
STRATA_ALONE = 100_000_000
LARGEST_MASKED = 76  # most masked positions of a sequence


def parameters(model):
    hidden, inner = model["hidden_size"], model["intermediate_size"]
    layer = 4 * hidden * hidden + 2 * hidden * inner + 9 * hidden + inner
    rows = model["vocab_size"] + model.get("max_position_embeddings", 512) + model.get("type_vocab_size", 2)
    return rows * hidden + model["num_hidden_layers"] * layer + 2 * hidden * hidden + 10 * hidden + model["vocab_size"]


def batches_of(lengths):
    if match := re.fullmatch(r"(\d+)x(\d+)", lengths):
        return [[int(match[2])] * int(match[1])]
    return json.loads(pathlib.Path(lengths).read_text())


def padded(batches, in_order, longest):
    """(sequences, tokens of each) of every batch as PyTorch pads it."""
    if not in_order:
        return [(len(batch), longest) for batch in batches]
    every = iter(sorted(length for batch in batches for length in batch))
    dealt = [[next(every) for _ in batch] for batch in batches]
    return [(len(batch), min(longest, -(-max(batch) // 8) * 8)) for batch in dealt]


def pytorch_step(model, options):
    hidden, inner, layers = (model[key] for key in ("hidden_size", "intermediate_size", "num_hidden_layers"))
    size = 2 if options.precision == "bf16" else 4
    # Weights, gradients and two moments in fp32. Autocast keeps a copy of weights; the word embeddings have two gradients for a while.
    state = parameters(model) * (16 + (2 if size == 2 else 0)) + 4 * model["vocab_size"] * hidden

    def activations(sequences, length):
        # Inputs and outputs of GEMMs and GELU in the compute dtype, inputs of LayerNorm in fp32, dropout's masks.
        token = size * (8 * hidden + 2 * inner) + 10 * hidden
        if size == 2:
            token += 4 * hidden  # each of query, key and value casts its input
        scores = sequences * model["num_attention_heads"] * length * length
        if model.get("attention_probs_dropout_prob", 0.1) == 0:
            scores = 0  # fused attention keeps no scores; PyTorch does not fuse it on processors if there is dropout
        words = sequences * LARGEST_MASKED * model["vocab_size"]
        each = SCORE[options.variant]
        return layers * (sequences * length * token + each * scores) + 14 * words

    shapes = padded(batches_of(options.lengths), options.sorted, model.get("max_position_embeddings", 512))
    most = max(activations(*shape) for shape in shapes)
    return PYTORCH_ALONE + state + 1.05 * most + (COMPILER if options.variant == "compiled" else 0)


def strata_step(model, options):
    size = 2 if options.precision == "bf16" else 4
    tokens = max(sum(batch) for batch in batches_of(options.lengths))
    token = model["num_hidden_layers"] * size * (10 * model["hidden_size"] + 2 * model["intermediate_size"])
    return options.ranks * (STRATA_ALONE + parameters(model) * (18 if size == 2 else 16) + tokens * token)


def optimizer(model, options):
    return PYTORCH_ALONE + 18 * parameters(model)


def cosines(model, options):
    return PYTORCH_ALONE + 39 * parameters({**model, "num_hidden_layers": options.layers or model["num_hidden_layers"]})


def available(root):
    """Bytes that this process and its children may still take."""
    def number(path):
        try:
            return int(path.read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return None  # no such file, or "max"

    def reclaimable(path):
        """Bytes of file pages, which make room for others."""
        try:
            found = re.search(r"^(?:total_)?inactive_file (\d+)$", path.read_text(), re.MULTILINE)
        except OSError:
            return 0
        return int(found[1]) if found else 0

    found = re.search(r"^MemAvailable:\s+(\d+) kB", (root / "proc/meminfo").read_text(), re.MULTILINE)
    least = 1024 * int(found[1])
    try:
        groups = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        groups = []
    for line in groups:
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            base, limit, used = root / "sys/fs/cgroup", "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            base, limit, used = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        # Every group above this one may have a limit. In a container the group's path may be missing: the root is then the group.
        folder = base / group.lstrip("/")
        for each in [folder, *folder.parents]:
            most, taken = number(each / limit), number(each / used)
            if most is not None and taken is not None:
                least = min(least, most - taken + reclaimable(each / "memory.stat"))
            if each == base:
                break
    return max(least, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = {"pytorch-step": pytorch_step, "strata-step": strata_step, "optimizer": optimizer, "cosines": cosines}
    parser.add_argument("kind", choices=kinds)
    parser.add_argument("model")
    parser.add_argument("lengths", nargs="?")
    parser.add_argument("--sorted", action="store_true")
    parser.add_argument("--precision", choices=["bf16", "fp32"], default="bf16")
    parser.add_argument("--variant", choices=["eager", "compiled"], default="eager")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--ranks", type=int, default=1)
    options = parser.parse_args()
    model = MODELS.get(options.model) or json.loads(pathlib.Path(options.model).read_text())
    needed = kinds[options.kind](model, options)
    there = available(pathlib.Path(os.environ.get("STRATA_MEMORY_ROOT", "/")))
    if needed > there:
        sys.exit(f"needs about {needed / 1e9:.1f} GB of memory, {there / 1e9:.1f} GB are there")


main()
