"""Self-attention of one BERT layer in PyTorch, forward and backward with dropout, by every kernel of
scaled_dot_product_attention that takes it: over packed sequences (nested tensors) and padded ones. Prints JSON.
Usage: pytorch_attention.py MODEL OPERATIONS.json [--device cuda|cpu]
MODEL: bert-large or a config.json. OPERATIONS.json: what `strata bench operations --json` printed, for its lengths."""
import argparse
import json
import statistics
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("model")
parser.add_argument("operations")
parser.add_argument("--device", default="cuda")
options = parser.parse_args()
on_gpu = options.device == "cuda"
if options.model == "bert-large":
    hidden, heads, positions = 1024, 16, 512
else:
    config = json.load(open(options.model))
    hidden, heads, positions = (config[key] for key in ("hidden_size", "num_attention_heads", "max_position_embeddings"))
lengths = json.load(open(options.operations))["lengths"]


def packed():
    sequences = [torch.randn(length, hidden, device=options.device, dtype=torch.bfloat16) for length in lengths]
    nested = torch.nested.nested_tensor(sequences, layout=torch.jagged).requires_grad_()
    return nested, nested.unflatten(-1, (heads, hidden // heads)).transpose(1, 2), None


def padded():
    flat = torch.randn(len(lengths), positions, hidden, device=options.device, dtype=torch.bfloat16, requires_grad=True)
    mask = torch.arange(positions, device=options.device) < torch.tensor(lengths, device=options.device)[:, None]
    return flat, flat.unflatten(-1, (heads, hidden // heads)).transpose(1, 2), mask[:, None, None, :]


def seconds_a_call(calls):
    """Issued one after the other, so that the GPU need not wait for Python between them; and what they returned."""
    if on_gpu:
        torch.cuda.synchronize()
    begin = time.perf_counter()
    returned = [call() for call in calls]
    if on_gpu:
        torch.cuda.synchronize()
    return (time.perf_counter() - begin) / len(calls), returned


def seconds(make, backend):
    """Medians of forward, and of backward to queries, keys and values."""
    calls = 20 if on_gpu else 1
    _, tensors, mask = zip(*(make() for _ in range(3)))

    def forward():
        out = scaled_dot_product_attention(*tensors, attn_mask=mask[0], dropout_p=0.1)
        return out.values() if out.is_nested else out

    def attempt():
        forward_seconds, outputs = seconds_a_call([forward] * calls)
        gradient = torch.randn_like(outputs[0])
        backward_seconds, _ = seconds_a_call(
            [lambda out=out: torch.autograd.grad(out, tensors, gradient) for out in outputs])
        return forward_seconds, backward_seconds
    with sdpa_kernel(backend):
        attempt()
        times = [attempt() for _ in range(7)]
    return [statistics.median(part) for part in zip(*times)]


results = []
for name, make in (("packed", packed), ("padded", padded)):
    for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION,
                    SDPBackend.MATH):
        if backend == SDPBackend.MATH and on_gpu:
            continue
        try:
            forward, backward = seconds(make, backend)
            results.append({"sequences": name, "kernel": backend.name, "forward_seconds": forward,
                            "backward_seconds": backward})
        except Exception as error:  # this kernel does not support the input
            results.append({"sequences": name, "kernel": backend.name, "error": str(error).splitlines()[0][:200]})
print(json.dumps(results))
