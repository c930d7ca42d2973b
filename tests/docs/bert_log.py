#!/usr/bin/env python3
"""Prints the log of a BERT run, for examples in documents: bert_log.py [--accuracy A] [--minutes M] [--division D] [KEY=VALUE...]

KEY=VALUE gives an event another value (JSON). Times are fixed, so the log is always the same.
"""

import argparse
import json

BEFORE = {
    "cache_clear": True, "init_start": None, "submission_benchmark": "bert", "submission_org": "Acme", "submission_division": "open",
    "submission_status": "onprem", "submission_platform": "2xACME-1", "seed": 1, "global_batch_size": 448, "gradient_accumulation_steps": 1,
    "opt_base_learning_rate": 0.001, "opt_epsilon": 1e-6, "opt_lamb_epsilon": 1e-6, "opt_lamb_beta_1": 0.9, "opt_lamb_beta_2": 0.999,
    "opt_lamb_weight_decay_rate": 0.01, "opt_learning_rate_training_steps": 100, "opt_learning_rate_warmup_steps": 10,
    "num_warmup_steps": 10, "start_warmup_step": 1, "train_samples": 300000, "eval_samples": 10000, "init_stop": None,
}

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--accuracy", type=float, default=0.72)
parser.add_argument("--minutes", type=float, default=10)
parser.add_argument("--division", default="open")
parser.add_argument("values", nargs="*")
arguments = parser.parse_args()

events = {**BEFORE, "submission_division": arguments.division}
for pair in arguments.values:
    key, value = pair.split("=", 1)
    events[key] = json.loads(value)

time_ms = 1795000000000  # 2026-11-18


def log(key, value=None, metadata=None, seconds=1):
    global time_ms
    time_ms += round(1000 * seconds)
    kind = "INTERVAL_START" if key.endswith("_start") else "INTERVAL_END" if key.endswith("_stop") else "POINT_IN_TIME"
    event = {"namespace": "", "time_ms": time_ms, "event_type": kind, "key": key, "value": value, "metadata": metadata or {}}
    print(":::MLLOG " + json.dumps(event))


for key, value in events.items():
    log(key, value)
log("run_start")
for samples, accuracy in ((150000, arguments.accuracy - 0.05), (300000, arguments.accuracy)):
    log("block_start", None, {"first_epoch_num": samples - 150000, "epoch_count": 150000}, 0)
    log("eval_start", None, {"epoch_num": samples}, 30 * arguments.minutes - 1)
    log("eval_accuracy", round(accuracy, 4), {"epoch_num": samples})
    log("eval_stop", None, {"epoch_num": samples}, 0)
    log("block_stop", None, {"first_epoch_num": samples - 150000}, 0)
log("run_stop", None, {"status": "success"}, 0)
