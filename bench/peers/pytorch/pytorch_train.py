"""Trains BERT in PyTorch on the CPU to a masked-LM accuracy, with the settings and the packed HDF5 files of a run of Strata:
transformers' BERT with SDPA, its heads at masked positions alone, bf16 autocast, fused AdamW, a clipped global norm. A step's samples
are sorted by length and cut into micro-batches, each padded to its longest. Prints JSON; exits 1 where the target is not reached.
Usage: pytorch_train.py SETTINGS.yaml SEED --ranks N [--threads N] [--micro-batch N] [--variant compiled|eager]
       [--heads strata|transformers] [--trace FILE] [--log FILE --organization NAME --platform NAME]
SETTINGS.yaml: what `strata train` writes beside its log. --ranks: of that run, for the samples of a step. --micro-batch: samples
computed at once (the settings'). --variant: torch.compile with dynamic shapes, or not (compiled). --heads: whose rule gives the weights that the checkpoint lacks (strata). --trace: losses and norms
of every step, as Strata's log.step_trace. --log: a new file for MLPerf's events, written by mlperf_logging. The clock runs from before the first sample is read to the evaluation that reaches the
target; making the model and warming up (`initialization.warmup_steps` steps and an evaluation, on samples of the evaluation, after
which the first weights are put back) come before."""
import argparse
import json
import pathlib
import sys
import time

import h5py
import numpy
import torch
import yaml
from pytorch_bert import autocast, config_of, scores, update
from torch.nn.functional import cross_entropy
from transformers import BertForPreTraining

EVALUATED_AT_ONCE = 8  # samples per evaluation batch


class Samples:
    """The samples of a packed HDF5 file, which `strata data prepare` made."""

    def __init__(self, path):
        with h5py.File(path) as file:
            if "offsets" not in file:
                sys.exit(f"{path}: not packed; make it by `strata data prepare`")
            data = {name: values[:] for name, values in file.items()}
        self.tokens, self.ids, self.positions = (
            data[name].astype(numpy.int64) for name in ("tokens", "masked_lm_ids", "masked_lm_positions"))
        self.offsets = data["offsets"].astype(numpy.int64)
        self.first_lengths = data["first_segment_lengths"].astype(numpy.int64)
        self.next_sentence = data["next_sentence_labels"].astype(numpy.int64)
        self.lengths = numpy.diff(self.offsets[:, 0])

    def batch(self, chosen):
        """Returns the samples `chosen`, padded to the longest: inputs, [rows, positions] of masked tokens, the original tokens
        there, next-sentence labels."""
        shape = (len(chosen), int(self.lengths[chosen].max()))
        ids, segments, attention = (numpy.zeros(shape, numpy.int64) for _ in range(3))
        where, labels = [], []
        for row, sample in enumerate(chosen):
            (begin, masked_begin), (end, masked_end) = self.offsets[sample], self.offsets[sample + 1]
            length = end - begin
            ids[row, :length] = self.tokens[begin:end]
            segments[row, self.first_lengths[sample]:length] = 1
            attention[row, :length] = 1
            positions = self.positions[masked_begin:masked_end]
            where.append(numpy.stack([numpy.full_like(positions, row), positions]))
            labels.append(self.ids[masked_begin:masked_end])
        inputs = {"input_ids": ids, "token_type_ids": segments, "attention_mask": attention}
        return ({name: torch.from_numpy(values) for name, values in inputs.items()},
                torch.from_numpy(numpy.concatenate(where, 1)), torch.from_numpy(numpy.concatenate(labels)),
                torch.from_numpy(self.next_sentence[chosen]))


def initialise(model, missing):
    """Sets parameters that the checkpoint lacks by Strata's rule: matrices are truncated normal, but the masked-LM head's
    transform is the identity, so that the head compares the encoder's output with the word embeddings; gains are 1, biases 0."""
    for name, values in model.named_parameters():
        if name not in missing:
            continue
        if name == "cls.predictions.transform.dense.weight":
            torch.nn.init.eye_(values)
        elif values.dim() == 2:
            torch.nn.init.trunc_normal_(values, std=0.02, a=-0.04, b=0.04)
        else:
            torch.nn.init.constant_(values, 1 if name.endswith("LayerNorm.weight") else 0)


def accuracy(forward, model, samples, size, in_bf16):
    """Returns the share of masked positions that are predicted correctly, in batches of `size` samples of similar length."""
    right = 0
    model.eval()
    with torch.no_grad(), autocast(torch.device("cpu"), in_bf16):
        order = numpy.argsort(samples.lengths, kind="stable")
        for begin in range(0, len(order), size):
            inputs, where, labels, _ = samples.batch(order[begin:begin + size])
            right += int((forward(model, inputs, where)[0].argmax(1) == labels).sum())
    model.train()
    return right / len(samples.ids)


def rate(settings, step):
    """Returns the learning rate of a step, counted from 1: linear warm-up, then a polynomial from the full rate."""
    schedule, full = settings["lr_schedule"], settings["optimizer"]["lr"]
    warmup = schedule["warmup_steps"]
    if step <= warmup:
        return full * step / warmup
    left = max(0.0, 1 - (step - warmup) / (schedule["training_steps"] - warmup))
    return schedule["end_lr"] + (full - schedule["end_lr"]) * left ** schedule["power"]


def optimizer_of(model, settings):
    options = settings["optimizer"]
    decayed = [p for name, p in model.named_parameters() if not name.endswith("bias") and "LayerNorm" not in name]
    kept = {id(p) for p in decayed}
    others = [p for p in model.parameters() if id(p) not in kept]
    return torch.optim.AdamW([{"params": decayed, "weight_decay": options["weight_decay"]},
                              {"params": others, "weight_decay": 0}],
                             lr=options["lr"], betas=(options["beta1"], options["beta2"]), eps=options["epsilon"], fused=True)


class Training:
    def __init__(self, forward, model, settings, in_bf16):
        self.forward, self.model, self.settings, self.in_bf16 = forward, model, settings, in_bf16
        self.optimizer = optimizer_of(model, settings)

    def step(self, samples, chosen, number):
        size = self.settings["batch"]["micro_batch"]
        chosen = chosen[numpy.argsort(samples.lengths[chosen], kind="stable")]
        parts = [samples.batch(chosen[begin:begin + size]) for begin in range(0, len(chosen), size)]
        masked = sum(len(labels) for _, _, labels, _ in parts)
        losses = numpy.zeros(2)
        for inputs, where, labels, next_sentence in parts:
            with autocast(torch.device("cpu"), self.in_bf16):
                words, next_scores = self.forward(self.model, inputs, where)
                masked_lm = cross_entropy(words, labels, reduction="sum") / masked
                next_one = cross_entropy(next_scores, next_sentence, reduction="sum") / len(chosen)
            (masked_lm + next_one).backward()
            losses += [masked_lm.item(), next_one.item()]
        for group in self.optimizer.param_groups:
            group["lr"] = rate(self.settings, number)
        norm = update(self.model, self.optimizer, self.settings["clip"]["max_norm"])
        return {"step": number, "masked_lm_loss": losses[0], "next_sentence_loss": losses[1],
                "learning_rate": rate(self.settings, number), "gradient_norm": norm.item()}


def refuse(settings):
    """Ends the program if it does not support the settings."""
    wanted = {("optimizer", "name"): "adam", ("lr_schedule", "name"): "warmup_then_polynomial_decay"}
    for (group, key), value in wanted.items():
        if settings[group][key] != value:
            sys.exit(f"{group}.{key} {settings[group][key]}: this program does {value} alone")
    for part in ("train", "eval"):
        if len(settings["data"][part]) != 1:
            sys.exit(f"data.{part}: this program reads one file, there are {len(settings['data'][part])}")
    if settings["model"]["precision"] not in ("bf16", "fp32"):
        sys.exit(f"model.precision {settings['model']['precision']}: this program does bf16 and fp32 alone")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings")
    parser.add_argument("seed", type=int)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--micro-batch", type=int)
    parser.add_argument("--variant", choices=["compiled", "eager"], default="compiled")
    parser.add_argument("--heads", choices=["strata", "transformers"], default="strata")
    parser.add_argument("--trace", type=argparse.FileType("w"))
    parser.add_argument("--log")
    parser.add_argument("--organization", default="PyTorch")
    parser.add_argument("--platform", default="1xCPU")
    options = parser.parse_args()
    log = None
    if options.log:
        from mlperf_log import MlperfLog
        log = MlperfLog(options.log, options.organization, options.platform)
    settings = yaml.safe_load(pathlib.Path(options.settings).read_text())
    refuse(settings)
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    batch = settings["batch"]
    global_batch = batch["micro_batch"] * batch["gradient_accumulation_steps"] * options.ranks
    batch["micro_batch"] = options.micro_batch or batch["micro_batch"]
    in_bf16 = settings["model"]["precision"] == "bf16"
    if log:
        log.settings(options.seed, global_batch, global_batch // batch["micro_batch"], settings)

    config = config_of(settings["model"]["config"])
    config.hidden_dropout_prob = settings["model"]["hidden_dropout"]
    config.attention_probs_dropout_prob = settings["model"]["attention_dropout"]
    model, loaded = BertForPreTraining.from_pretrained(str(pathlib.Path(settings["model"]["checkpoint"]).parent), config=config,
                                                       output_loading_info=True)
    if options.heads == "strata":
        initialise(model, loaded["missing_keys"])
    model.train()
    forward = scores if options.variant == "eager" else torch.compile(scores, dynamic=True)
    initial = {name: values.clone() for name, values in model.state_dict().items()}
    warm = Training(forward, model, settings, in_bf16)
    random = numpy.random.default_rng(options.seed)
    held_out = Samples(settings["data"]["eval"][0])
    for number in range(1, settings["initialization"]["warmup_steps"] + 1):
        warm.step(held_out, random.choice(len(held_out.lengths), global_batch, replace=False), number)
    accuracy(forward, model, held_out, EVALUATED_AT_ONCE, in_bf16)
    model.load_state_dict(initial)
    del warm, initial, held_out

    training = Training(forward, model, settings, in_bf16)
    target = settings["target"]
    begin = time.perf_counter()
    if log:
        log.start()
    samples, held_out = Samples(settings["data"]["train"][0]), Samples(settings["data"]["eval"][0])
    order = random.permutation(len(samples.lengths))
    next_evaluation, evaluating, reached, value, number = target["start_eval_at_sample"], 0.0, False, 0.0, 0
    last = settings["lr_schedule"]["training_steps"] if target["max_steps"] == "auto" else target["max_steps"]
    block = 0  # the first sample of the block
    while not reached and number < last:
        if log and number * global_batch == block:
            log.block(block, min(next_evaluation, last * global_batch) - block)
        number += 1
        chosen = order.take(range((number - 1) * global_batch, number * global_batch), mode="wrap")
        step = training.step(samples, chosen, number)
        if options.trace:
            print(json.dumps(step), file=options.trace, flush=True)
        if number * global_batch >= next_evaluation:
            next_evaluation += target["eval_interval_samples"]
            evaluation_begin = time.perf_counter()
            block = number * global_batch
            if log:
                log.evaluation(block)
            value = accuracy(forward, model, held_out, EVALUATED_AT_ONCE, in_bf16)
            evaluating += time.perf_counter() - evaluation_begin
            reached = value >= target["masked_lm_accuracy"]
            if log:
                log.accuracy(block, value)
            print(f"{number * global_batch} samples: {value:.4f}", file=sys.stderr)
    seconds = time.perf_counter() - begin
    if log:
        log.stop(reached, number * global_batch, len(held_out.lengths))
    print(json.dumps({"torch": torch.__version__, "threads": torch.get_num_threads(), "seed": options.seed, "seconds": seconds,
                      "evaluation_seconds": evaluating, "samples": number * global_batch, "accuracy": value,
                      "reached_target": reached}))
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
