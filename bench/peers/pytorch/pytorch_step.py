"""BERT pretraining steps in PyTorch: transformers' BertForPreTraining, SDPA, bf16 autocast, clip_grad_norm_, fused
AdamW, over sequences padded to the model's 512 positions. Prints JSON.
Usage: pytorch_step.py MODEL LENGTHS.json VARIANT [--device cuda|cpu] [--steps N] [--sorted] [--masked-only] [--precision bf16|fp32]
--sorted: all sequences dealt anew to as many batches by length, each padded to its longest, rounded up to a multiple of 8.
--masked-only: the masked-LM head at masked positions alone; transformers' own model computes it at every position.
--precision: default bf16.
MODEL: bert-large or a config.json. LENGTHS.json: a list of batches, each a list of lengths. VARIANT: eager, compiled."""
import argparse
import json
import random
import statistics
import time

import torch
from pytorch_bert import autocast, config_of, scores, update
from torch.nn.functional import cross_entropy
from transformers import BertForPreTraining

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("model")
parser.add_argument("lengths")
parser.add_argument("variant", choices=["eager", "compiled"])
parser.add_argument("--device", default="cuda")
parser.add_argument("--steps", type=int, default=10)
parser.add_argument("--sorted", action="store_true")
parser.add_argument("--masked-only", action="store_true")
parser.add_argument("--precision", choices=["bf16", "fp32"], default="bf16")
options = parser.parse_args()
in_bf16 = options.precision == "bf16"
device = torch.device(options.device)
on_gpu = device.type == "cuda"


def synchronize():
    if on_gpu:
        torch.cuda.synchronize()


def make_batch(lengths, config):
    longest = -(-max(lengths) // 8) * 8 if options.sorted else config.max_position_embeddings
    size = (len(lengths), min(longest, config.max_position_embeddings))
    ids = torch.randint(5, config.vocab_size, size)
    positions = torch.arange(size[1]).expand(size)
    attention = (positions < torch.tensor(lengths)[:, None]).long()
    labels = torch.full(size, -100)
    for row, length in enumerate(lengths):
        masked = random.sample(range(length), min(76, max(1, round(0.15 * length))))
        labels[row, masked] = ids[row, masked]
    batch = dict(input_ids=ids * attention, attention_mask=attention,
                 token_type_ids=(positions >= torch.tensor(lengths)[:, None] // 2).long() * attention, labels=labels,
                 next_sentence_label=torch.randint(0, 2, (len(lengths),)))
    where = torch.stack(torch.nonzero(labels != -100, as_tuple=True))
    return {name: tensor.to(device) for name, tensor in batch.items()}, where.to(device)


def peak(work, amount):
    """`amount` of one call over the median time of a call."""
    for _ in range(3):
        work()
    times = []
    for _ in range(7):
        synchronize()
        begin = time.perf_counter()
        for _ in range(10):
            work()
        synchronize()
        times.append((time.perf_counter() - begin) / 10)
    return amount / statistics.median(times)


torch.manual_seed(1)
random.seed(1)
torch.set_float32_matmul_precision("high" if in_bf16 else "highest")
config = config_of(options.model)
model = BertForPreTraining(config).to(device).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, weight_decay=0.01, fused=True)


def loss_of(batch, where):
    if not options.masked_only:
        return model(**batch).loss
    inputs = {name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")}
    words, next_scores = scores(model, inputs, where)
    return (cross_entropy(words, batch["labels"][where[0], where[1]])
            + cross_entropy(next_scores, batch["next_sentence_label"]))


loss_of_batch = torch.compile(loss_of) if options.variant == "compiled" else loss_of
all_lengths = json.load(open(options.lengths))
if options.sorted:
    in_order = iter(sorted(length for lengths in all_lengths for length in lengths))
    all_lengths = [[next(in_order) for _ in lengths] for lengths in all_lengths]
batches = [make_batch(lengths, config) for lengths in all_lengths]
if options.variant == "compiled" and options.masked_only and len({where.size(1) for _, where in batches}) > 1:
    # One compilation serves any number of masked positions; otherwise the second batch would
    # compile again.
    for _, where in batches:
        torch._dynamo.maybe_mark_dynamic(where, 1)


def step(batch, where):
    with autocast(device, in_bf16):
        loss = loss_of_batch(batch, where)
    loss.backward()
    update(model, optimizer, 1.0)


# Warms up with every batch if lengths differ, because torch.compile compiles per shape.
for number in range(max(3, len(batches)) if options.sorted else 3):
    step(*batches[number % len(batches)])
times = []
for number in range(options.steps):
    synchronize()
    begin = time.perf_counter()
    step(*batches[number % len(batches)])
    synchronize()
    times.append(time.perf_counter() - begin)
# The figures are of the timed batches, without padding.
timed = [all_lengths[number % len(batches)] for number in range(options.steps)]
sequences = sum(map(len, timed)) / len(timed)
tokens = sum(map(sum, timed))
memory = torch.cuda.max_memory_allocated() if on_gpu else 0
del batches, loss_of_batch, model, optimizer
size = 8192 if on_gpu else 2048
a, b = (torch.randn(size, size, device=device, dtype=torch.bfloat16 if in_bf16 else torch.float32) for _ in range(2))
source = torch.empty(2**28 if on_gpu else 2**24, device=device)
target = torch.empty_like(source)
print(json.dumps({
    "variant": options.variant, "precision": options.precision, "torch": torch.__version__,
    "device": torch.cuda.get_device_name() if on_gpu else "cpu",
    "tokens_per_second": tokens / sum(times),
    "seconds_per_step": statistics.median(times),
    # Sorted batches differ in time, so their mean counts.
    "sequences_per_second": sequences / (statistics.mean if options.sorted else statistics.median)(times),
    "peak_memory_bytes": memory,
    "matrix_peak_flops_per_second": peak(lambda: a @ b, 2 * size**3),
    "copy_peak_bytes_per_second": peak(lambda: target.copy_(source), 2 * 4 * source.numel())}))
