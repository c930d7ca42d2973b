"""The first LAMB update of BERT from random weights, in bf16 by Strata and by PyTorch's autocast, against float64. Prints JSON.
Usage: pytorch_update_cosines.py STRATA MODEL FOLDER [--samples N] [--length N] [--std S] [--layers N] [--threads N] [--set KEY=VALUE]
Writes weights and samples into FOLDER, where Strata trains one step with them. MODEL: bert-large or a config.json; --layers: its
first N alone. Weights are normal with deviation --std, biases 0, gains 1; nothing is dropped or clipped. PyTorch computes attention
op by op ("unfused": bf16 probabilities and their gradients) and by scaled_dot_product_attention ("fused").
For every layer and kind of weights (query, key, value) it prints the cosine of the update with that of float64, and for the whole
update |difference| / |update|."""
import argparse
import json
import pathlib
import subprocess
import sys

import h5py
import numpy
import safetensors.torch
import torch
from pytorch_bert import autocast, config_of, scores
from torch.nn.functional import cross_entropy
from transformers import BertForPreTraining

KINDS = ("query", "key", "value")
EPSILON = 1e-6


def make_samples(count, length, vocabulary, generator):
    """Full sequences of random tokens, 15 % of them masked, as MLPerf's fixed HDF5 files have them."""
    masked = max(1, round(0.15 * length))
    ids = torch.randint(999, vocabulary, (count, length), generator=generator)
    where = torch.stack([1 + torch.randperm(length - 2, generator=generator)[:masked].sort().values for _ in range(count)])
    labels = torch.gather(ids, 1, where)
    ids.scatter_(1, where, 103)
    segments = (torch.arange(length) >= length // 2).long().repeat(count, 1)
    return {"input_ids": ids, "input_mask": torch.ones_like(ids), "segment_ids": segments, "masked_lm_positions": where,
            "masked_lm_ids": labels, "next_sentence_labels": torch.arange(count) % 2}


def strata_update(options, folder, config):
    """Returns the update of one training step: a dict of float32 tensors."""
    size = len(options.samples_made["input_ids"])
    settings = {
        "run.output": folder / "run", "run.seed": 1, "model.config": folder / "config.json",
        "model.checkpoint": folder / "weights.safetensors", "model.precision": "bf16", "model.hidden_dropout": 0,
        "model.attention_dropout": 0, "data.train": folder / "train.hdf5", "data.eval": folder / "eval.hdf5",
        "data.eval_samples": 1, "batch.micro_batch": size, "batch.load_balance.strategy": "random", "optimizer.name": "lamb",
        "optimizer.lr": 0.01, "optimizer.epsilon": EPSILON, "optimizer.weight_decay": 0, "lr_schedule.warmup_steps": 1,
        "lr_schedule.training_steps": 100, "clip.mode": "none", "target.masked_lm_accuracy": 1, "target.max_steps": 1,
        "target.eval_interval_samples": size, "initialization.warmup_steps": 0, "log.save_checkpoint": "true",
        "log.step_trace": "true", "device.threads": options.threads}
    command = [options.strata, "train", "--config", folder / "settings.yaml"]
    (folder / "settings.yaml").write_text("run:\n  division: open\n")
    for pair in [f"{key}={value}" for key, value in settings.items()] + options.set:
        command += ["--set", pair]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode > 1:  # 1: the target was not reached
        sys.exit(f"strata train failed:\n{done.stderr}")
    trace, = (folder / "run").rglob("*.steps.jsonl")
    after, = (folder / "run").rglob("*.safetensors")
    rate = json.loads(trace.read_text().splitlines()[0])["learning_rate"]
    before, after = (safetensors.torch.load_file(path) for path in (folder / "weights.safetensors", after))
    return {name: (before[name] - values) / rate for name, values in after.items() if name in before}


def pytorch_update(weights, config, samples, attention, dtype):
    """Returns the update of one training step: a dict of float32 tensors. `dtype` is that of all tensors; bf16 is autocast's."""
    config._attn_implementation = attention
    in_bf16 = dtype == torch.bfloat16
    model = BertForPreTraining(config)
    model.load_state_dict(weights, strict=False)
    model.to(torch.float32 if in_bf16 else dtype).train()
    rows = torch.arange(len(samples["input_ids"]))[:, None].expand_as(samples["masked_lm_positions"]).flatten()
    where = (rows, samples["masked_lm_positions"].flatten())
    inputs = {"input_ids": samples["input_ids"], "token_type_ids": samples["segment_ids"]}
    with autocast(torch.device("cpu"), in_bf16):
        words, next_sentence = scores(model, inputs, where)
        loss = (cross_entropy(words, samples["masked_lm_ids"].flatten()) +
                cross_entropy(next_sentence, samples["next_sentence_labels"]))
    loss.backward()
    updates = {}
    with torch.no_grad():
        for name, weight in model.named_parameters():
            gradient, weight.grad = weight.grad.double(), None
            direction = gradient / (gradient.abs() + EPSILON)
            # LAMB has no trust ratio for vectors.
            ratio = weight.double().norm() / direction.norm() if weight.dim() == 2 else 1
            updates[name] = (ratio * direction).float()
    return updates


def cosine(a, b):
    a, b = a.double().flatten(), b.double().flatten()
    return (a @ b / (a.norm() * b.norm())).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("strata")
    parser.add_argument("model")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--std", type=float, default=0.03)
    parser.add_argument("--layers", type=int)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    generator = torch.Generator().manual_seed(1)
    config = config_of(options.model)
    config.num_hidden_layers = options.layers or config.num_hidden_layers
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    config.to_json_file(folder / "config.json", use_diff=False)
    weights = {}
    for name, weight in BertForPreTraining(config).named_parameters():
        is_gain = name.endswith("LayerNorm.weight")
        weights[name] = (torch.empty_like(weight).normal_(0, options.std, generator=generator) if weight.dim() == 2
                         else torch.full_like(weight, 1.0 if is_gain else 0.0)).detach()
    safetensors.torch.save_file(weights, folder / "weights.safetensors")
    weights["cls.predictions.decoder.weight"] = weights["bert.embeddings.word_embeddings.weight"]
    weights["cls.predictions.decoder.bias"] = weights["cls.predictions.bias"]
    for part in ("train", "eval"):
        samples = make_samples(options.samples, options.length, config.vocab_size, generator)
        with h5py.File(folder / f"{part}.hdf5", "w") as file:
            for name, values in samples.items():
                file[name] = values.numpy().astype(numpy.int32)
        if part == "train":
            options.samples_made = samples

    systems = {"strata": strata_update(options, folder, config)}
    samples = options.samples_made
    for name, attention in (("unfused", "eager"), ("fused", "sdpa")):
        systems[name] = pytorch_update(weights, config, samples, attention, torch.bfloat16)
    exact = pytorch_update(weights, config, samples, "eager", torch.float64)

    layers = []
    for layer in range(config.num_hidden_layers):
        layers.append({kind: {system: round(cosine(update[f"bert.encoder.layer.{layer}.attention.self.{kind}.weight"],
                                                   exact[f"bert.encoder.layer.{layer}.attention.self.{kind}.weight"]), 4)
                              for system, update in systems.items()} for kind in KINDS})
    whole = {}
    for system, update in systems.items():
        missing = exact.keys() - update.keys()
        if missing:
            sys.exit(f"{system} has no update of {', '.join(sorted(missing))}")
        difference = sum((update[name].double() - exact[name].double()).norm().item() ** 2 for name in exact)
        whole[system] = round((difference / sum(values.double().norm().item() ** 2 for values in exact.values())) ** 0.5, 4)
    print(json.dumps({"torch": torch.__version__, "layers": layers, "whole_update_error": whole}))


if __name__ == "__main__":
    main()
