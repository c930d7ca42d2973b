#!/usr/bin/env python3
"""Computes what `strata eval` must print before any training, by transformers' BertForPreTraining in double.

Needs torch, transformers, safetensors and h5py.

  eval_step0.py            writes eval_step0_tiny.json beside itself: samples made here, weights bert_tiny.safetensors
  eval_step0.py FOLDER     writes eval_step0_quickstart.json beside itself. FOLDER is data-cache/, as
                           scripts/data/prepare_quickstart_data.sh fills it: its pretrained encoder, and its evaluation set

A pretrained encoder has no masked-LM transform and no next-sentence head. The transform is the identity with bias 0
and LayerNorm 1, 0; the next-sentence head is drawn as `strata eval` draws it for run.seed 0.
"""

import hashlib
import json
import math
import pathlib
import sys

import h5py
import torch
import transformers
from safetensors.torch import load_file

HERE = pathlib.Path(__file__).parent
TIED = {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias"}
BATCH = 16


def make_model(config_file, weights, missing):
    config = transformers.BertConfig.from_json_file(config_file)
    config._attn_implementation = "eager"
    model = transformers.BertForPreTraining(config).double().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in TIED:
                continue
            value = weights.get(name, weights.get(name.removeprefix("bert.")))
            parameter.copy_(missing(name, parameter) if value is None else value)
    return model


def evaluate(model, samples):
    """Sums over the samples, each a dictionary of lists; longest first, so that little is padding."""
    totals = dict(masked_loss=0.0, masked_correct=0, masked_total=0, next_loss=0.0, next_correct=0, next_total=0)
    closest = math.inf
    samples = sorted(samples, key=lambda sample: -len(sample["tokens"]))
    for begin in range(0, len(samples), BATCH):
        batch = samples[begin:begin + BATCH]
        longest = len(batch[0]["tokens"])

        def padded(values):
            return torch.tensor([value + [0] * (longest - len(value)) for value in values])

        places = [(row, p) for row, sample in enumerate(batch) for p in sample["masked_positions"]]
        rows, columns = torch.tensor(places).T
        labels = torch.tensor([label for sample in batch for label in sample["masked_ids"]])
        with torch.no_grad():
            hidden = model.bert(padded([s["tokens"] for s in batch]),
                                attention_mask=padded([[1] * len(s["tokens"]) for s in batch]),
                                token_type_ids=padded([s["segments"] for s in batch]))
            # The vocabulary's scores of the masked positions only: as much as memory holds.
            scores = model.cls.predictions(hidden.last_hidden_state[rows, columns])
            next_scores = model.cls.seq_relationship(hidden.pooler_output)
        next_labels = torch.tensor([sample["next_sentence"] for sample in batch])
        totals["masked_loss"] += torch.nn.functional.cross_entropy(scores, labels, reduction="sum").item()
        totals["masked_correct"] += (scores.argmax(-1) == labels).sum().item()
        totals["masked_total"] += len(places)
        totals["next_loss"] += torch.nn.functional.cross_entropy(next_scores, next_labels, reduction="sum").item()
        totals["next_correct"] += (next_scores.argmax(-1) == next_labels).sum().item()
        totals["next_total"] += len(batch)
        best = scores.topk(2).values
        closest = min(closest, (best[:, 0] - best[:, 1]).min().item())
    print(f"closest two scores differ by {closest:.2g}")
    return {
        "samples": len(samples),
        "masked_lm": {"correct": totals["masked_correct"], "total": totals["masked_total"],
                      "loss": totals["masked_loss"] / totals["masked_total"]},
        "next_sentence": {"correct": totals["next_correct"], "total": totals["next_total"],
                          "loss": totals["next_loss"] / totals["next_total"]},
    }


def write(name, result):
    path = HERE / name
    path.write_text(json.dumps(result, separators=(",", ":")) + "\n")
    print(path, {key: result[key] for key in ("masked_lm", "next_sentence")})


def tiny():
    def nothing_missing(name, _):
        raise KeyError(name)

    model = make_model(HERE / "bert_tiny_config.json", load_file(HERE / "bert_tiny.safetensors"), nothing_missing)
    generator = torch.Generator().manual_seed(3)

    def numbers(low, high, count):
        return torch.randint(low, high, (count,), generator=generator).tolist()

    samples = []
    for index in range(30):
        length = numbers(4, 25, 1)[0]
        masked = sorted(set(numbers(1, length - 1, max(1, length // 5))))
        samples.append({"tokens": numbers(0, 40, length), "segments": [0] * 3 + [1] * (length - 3),
                        "masked_positions": masked, "masked_ids": numbers(0, 40, len(masked)),
                        "next_sentence": index % 2})
    # Half of the masked tokens are what the model says, so that counting them is tested.
    for index, sample in enumerate(samples[::2]):
        with torch.no_grad():
            scores = model(torch.tensor([sample["tokens"]]), token_type_ids=torch.tensor([sample["segments"]]))
        sample["masked_ids"] = scores.prediction_logits[0, sample["masked_positions"]].argmax(-1).tolist()
    write("eval_step0_tiny.json", {"instances": samples, **evaluate(model, samples)})


def splitmix64(x):
    mask = (1 << 64) - 1
    x = (x + 0x9E3779B97F4A7C15) & mask
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return x ^ (x >> 31)


def truncated_normal(seed, element):
    """Normal with deviation 0.02, cut at two deviations: Box-Muller over a counter."""
    def uniform(counter):
        return ((splitmix64(seed ^ splitmix64(counter)) >> 11) + 0.5) * 2.0**-53

    draw = 0
    while True:
        counter = (element << 16) + 2 * draw
        value = math.sqrt(-2 * math.log(uniform(counter))) * math.cos(2 * math.pi * uniform(counter + 1))
        if abs(value) <= 2:
            return 0.02 * value
        draw += 1


def head_of_strata(name, parameter):
    if name == "cls.predictions.transform.dense.weight":
        return torch.eye(len(parameter))
    if name == "cls.predictions.transform.LayerNorm.weight":
        return torch.ones_like(parameter)
    if name == "cls.seq_relationship.weight":
        # It stands in Strata's arena behind the transform's weight, a square matrix.
        first = parameter.shape[1] ** 2
        values = [truncated_normal(0, first + i) for i in range(parameter.numel())]
        return torch.tensor(values, dtype=torch.float32).reshape(parameter.shape)
    assert name.startswith("cls.") and name.endswith("bias"), name
    return torch.zeros_like(parameter)


def read_packed(path):
    with h5py.File(path) as file:
        columns = {name: file[name][:] for name in file}
        made_from = file.attrs["made_from"].decode()
    samples = []
    offsets = columns["offsets"]
    for i in range(len(offsets) - 1):
        (t0, m0), (t1, m1) = offsets[i].tolist(), offsets[i + 1].tolist()
        first = int(columns["first_segment_lengths"][i])
        samples.append({"tokens": columns["tokens"][t0:t1].tolist(), "segments": [0] * first + [1] * (t1 - t0 - first),
                        "masked_positions": columns["masked_lm_positions"][m0:m1].tolist(),
                        "masked_ids": columns["masked_lm_ids"][m0:m1].tolist(),
                        "next_sentence": int(columns["next_sentence_labels"][i])})
    return samples, made_from


def quickstart(folder):
    minilm = folder / "minilm"
    model = make_model(minilm / "config.json", load_file(minilm / "model.safetensors"), head_of_strata)
    eval_file = folder / "quickstart" / "eval.hdf5"
    samples, made_from = read_packed(eval_file)
    digest = hashlib.sha256((minilm / "model.safetensors").read_bytes()).hexdigest()
    write("eval_step0_quickstart.json",
          {"checkpoint_sha256": digest, "made_from": made_from, **evaluate(model, samples)})


if __name__ == "__main__":
    if len(sys.argv) > 1:
        quickstart(pathlib.Path(sys.argv[1]))
    else:
        tiny()
