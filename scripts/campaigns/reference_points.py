#!/usr/bin/env python3
"""Trains the runs behind the quickstart's reference convergence points, and writes the points.

The reference is Strata's CPU backend in bf16, on one rank of one thread. For each global batch size, runs with the seeds
1 to --runs train until they reach the target, or for twice as many samples as usual. The first evaluation comes after about 80 %
of the samples that a typical run needs; others follow every 16 samples, at batch size 32 every 32. Each run that ends adds a line
to the table of runs. Runs in the table are not repeated: after an interruption, run the same command again. On a core of a Zen 4
a run takes 3 to 6 minutes.

--points FILE writes the points in the format of the official checker, and trains nothing. Strata contains
compliance/rcp/quickstart/rcps_bert.json; build Strata again after writing that file.

--fault NAME trains ten runs at batch size 8 with a fault that the conformance suite does not notice. The fault is a setting,
or a changed line of the source, whose program the script builds in runs/faulty. A fault of several ranks trains one run at a
time. "none" is ten more runs without a fault.
--report says which faults the points notice, and how many of 100 sets of ten runs without a fault they reject. Each set, and
the 20 runs of its reference, are drawn with replacement from all runs without a fault.
"""

import argparse
import concurrent.futures
import errno
import fcntl
import json
import os
import platform
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
POINTS = ROOT / "compliance/rcp/quickstart"
CONFIG = ROOT / "scripts/configs/quickstart.yaml"
TARGET, EVALUATION_SAMPLES = 0.33, 207

# Each batch size's settings. 4: quickstart.yaml's, but a longer decay. 8: quickstart.yaml's. 16: a higher rate and a longer decay
# than in scripts/configs/search-batch-16.yaml, whose best trial stayed at 0.304. 32: batch size 16's, but a higher rate.
SETTINGS = {
    4: {"optimizer.lr": 7.054e-4, "lr_schedule.warmup_steps": 25, "lr_schedule.training_steps": 160},
    8: {"optimizer.lr": 7.054e-4, "lr_schedule.warmup_steps": 25, "lr_schedule.training_steps": 120},
    16: {"optimizer.lr": 1e-3, "lr_schedule.warmup_steps": 20, "lr_schedule.training_steps": 100},
    32: {"optimizer.lr": 1.2e-3, "lr_schedule.warmup_steps": 20, "lr_schedule.training_steps": 100},
}
# First evaluation and interval, in samples.
EVALUATIONS = {4: (368, 16), 8: (400, 16), 16: (672, 16), 32: (1024, 32)}
MOST_SAMPLES = {4: 960, 8: 960, 16: 1664, 32: 2560}  # runs stop here
COMMON = {"device.threads": 1, "model.precision": "bf16", "initialization.warmup_steps": 1, "run.system": "reference"}

FAULT_BATCH, FAULT_SEEDS = 8, range(101, 111)
# Each fault is settings, or a line of the source: file, text, replacement. The first three are no faults. Their runs show whether
# these converge alike: two ranks clip other norms, and PyTorch clips the norm of the whole model.
FAULTS = {
    "none": {},
    "two_ranks": {"ranks": 2},
    "whole_norm_clip": {"settings": {"clip.mode": "after_allreduce"}},
    "half_warm_up": {"settings": {"lr_schedule.warmup_steps": 12}},
    "dropout": {"settings": {"model.hidden_dropout": 0.1, "model.attention_dropout": 0.1}},
    "no_next_sentence_loss": {"source": (
        "training/trainer.cc", ".next_sentence_scale = replicas / static_cast<float>(planned.sequences)",
        ".next_sentence_scale = 0.0f * replicas / static_cast<float>(planned.sequences)")},
    "decayed_biases": {"source": (
        "training/factories/optimizer.cc", "segments.push_back({segment.offset, segment.size, segment.decay})",
        "segments.push_back({segment.offset, segment.size, true})")},
    "divided_by_ranks_twice": {"ranks": 2, "source": (
        "comm/buckets/bucket_arithmetic.cc", "clip.scale = 1.0f / static_cast<float>(plan_.ranks) / loss_scale_",
        "clip.scale = 1.0f / static_cast<float>(plan_.ranks * plan_.ranks) / loss_scale_")},
    "bf16_moments": {"source": (
        "device/operations/update_rules.h", "    return m * correction1 / (sqrtf(v * correction2) + epsilon) + weight_decay * w;",
        """    const auto bf16 = [](float x) {
      const auto bits = __builtin_bit_cast(unsigned, x);
      return __builtin_bit_cast(float, (bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u);
    };
    m = bf16(m);
    v = bf16(v);
    return m * correction1 / (sqrtf(v * correction2) + epsilon) + weight_decay * w;""")},
    "sorted_by_length": {"source": (
        "loadbalance/plans/epoch_sampler.cc", "places[i] = dealt_ + i + random_.below(remaining() - i);",
        "places[i] = dealt_ + i;")},
}

FEWEST_RUNS = 10  # of a point

stopped = threading.Event()
running = set()
adding = threading.Lock()  # threads share the table's position


def settings_of(batch, fault="none"):
    first, interval = EVALUATIONS[batch]
    micro_batch = batch // FAULTS[fault].get("ranks", 1)
    return COMMON | SETTINGS[batch] | {"batch.micro_batch": micro_batch, "target.start_eval_at_sample": first,
                                       "target.eval_interval_samples": interval,
                                       "target.max_steps": MOST_SAMPLES[batch] // batch} | FAULTS[fault].get("settings", {})


def is_row(row):
    return (isinstance(row, dict) and {"global_batch_size", "seed", "fault", "settings"} <= row.keys()
            and isinstance(row.get("samples"), int) and isinstance(row.get("reached_target"), bool))


def read_table(path):
    if not path.exists():
        return []
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        try:
            rows.append(json.loads(line))
        except ValueError as error:
            sys.exit(f"{path}, line {number}: {error}; remove the line, and the run is repeated")
        if not is_row(rows[-1]):
            sys.exit(f"{path}, line {number}: not a run of this script; remove the line")
    return rows


def open_table(path):
    """Opens the table to add rows, and keeps it for this process."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "ab+", buffering=0)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"{path}: another campaign adds to this table; wait for it")
    except OSError as error:
        sys.exit(f"{path}: {error.strerror}; name another file with --table")
    return file


def add_row(file, row):
    """Adds a line as a whole, or not at all. Returns what failed, or None."""
    with adding:
        end = file.seek(0, os.SEEK_END)
        text = json.dumps(row).encode() + b"\n"
        if end > 0:
            file.seek(end - 1)
            text = text if file.read(1) == b"\n" else b"\n" + text
        try:
            if file.write(text) != len(text):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file.fileno())
        except OSError as error:
            file.truncate(end)
            return f"{file.name}: {error.strerror}; the run is repeated"
    return None


def processor():
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def output_of(*command, cwd=ROOT):
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed in {cwd}:\n{done.stdout[-2000:]}")
    return done.stdout.strip()


def build_faulty(fault):
    """Builds the program of HEAD with the fault, unless it exists. Returns its path."""
    file, text, replacement = FAULTS[fault]["source"]
    tree = ROOT / "runs/faulty"
    commit = output_of("git", "rev-parse", "HEAD")
    program = tree / f"strata_{fault}_{commit[:12]}"
    if program.exists():
        return str(program)
    print(f"building strata with {fault}", flush=True)
    if not tree.exists():
        output_of("git", "clone", "--quiet", "--shared", str(ROOT), str(tree))
    output_of("git", "checkout", "--quiet", "--force", "--detach", commit, cwd=tree)
    source = (tree / file).read_text(encoding="utf-8")
    if source.count(text) != 1:
        sys.exit(f"{file} has {source.count(text)} times the text that the fault {fault} replaces; update FAULTS in this script")
    (tree / file).write_text(source.replace(text, replacement), encoding="utf-8")
    output_of("cmake", "--preset", "quickstart", cwd=tree)
    output_of("cmake", "--build", "build/quickstart", cwd=tree)
    unfinished = program.with_name(program.name + ".unfinished")
    shutil.copy2(tree / "build/quickstart/cli/strata", unfinished)
    os.replace(unfinished, program)
    return str(program)


def commit_of(program):
    """Returns the commit that the program names, or "unknown"."""
    found = re.search(r"commit ([0-9a-f]+)", subprocess.run([program, "--version"], capture_output=True, text=True).stdout)
    return found[1] if found else "unknown"


def train(arguments, table, programs, batch, seed, fault):
    """Trains one run and adds its line to the table. Returns what failed, or None."""
    if stopped.is_set():
        return None
    name = f"batch size {batch}, seed {seed}, fault {fault}"
    settings = settings_of(batch, fault)
    program, commit = programs[fault]
    ranks = FAULTS[fault].get("ranks", 1)
    launcher = [str(ROOT / "scripts/mpirun.sh"), "-n", str(ranks)] if ranks > 1 else []
    with tempfile.TemporaryDirectory(prefix="reference_point.", dir=arguments.scratch) as scratch:
        command = [*launcher, program, "train", "--config", str(CONFIG), "--json"]
        for key, value in (settings | {"run.seed": seed, "run.output": scratch}).items():
            command += ["--set", f"{key}={value}"]
        with open(Path(scratch) / "messages.txt", "w+", encoding="utf-8") as messages:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=messages, text=True)
            running.add(process)
            if stopped.is_set():  # the signal may have come before the line above
                process.send_signal(signal.SIGTERM)
            output, _ = process.communicate()
            running.discard(process)
            if stopped.is_set() and process.returncode not in (0, 1):
                return None
            if process.returncode not in (0, 1):
                messages.seek(0)
                last = messages.read().strip().splitlines()[-3:]
                return f"{name}: exit code {process.returncode}: {' / '.join(last)}"
        try:
            result = json.loads(output)["experiments"][0]
            row = {
                "global_batch_size": batch, "seed": seed, "fault": fault, "reached_target": result["reached_target"],
                "samples": result["samples"], "accuracy": round(result["accuracy"], 5), "seconds": round(result["seconds"], 1),
                "settings": settings, "commit": commit, "processor": processor()}
            if not is_row(row):
                raise ValueError("samples or reached_target are wrong")
        except (ValueError, KeyError, IndexError, TypeError) as error:
            if stopped.is_set():
                return None
            return f"{name}: the program printed no result: {error}"
    failure = add_row(table, row)
    if failure:
        return failure
    print(f"{name}: {row['samples']} samples, accuracy {row['accuracy']:.4f}", flush=True)
    return None


def stop(number, _):
    stopped.set()
    for process in list(running):
        process.send_signal(signal.SIGTERM)
    print(f"stopped by {signal.Signals(number).name}; run the same command again to continue", file=sys.stderr)


def current(rows, batch, fault="none"):
    """Returns the runs with the settings above, by seed."""
    wanted = settings_of(batch, fault)
    by_seed = {row["seed"]: row for row in rows
               if row["global_batch_size"] == batch and row["fault"] == fault and row["settings"] == wanted}
    return [by_seed[seed] for seed in sorted(by_seed)]


def reference(rows, batch):
    return [row for row in current(rows, batch) if row["seed"] not in FAULT_SEEDS]


def record_of(batch, counts):
    first, interval = EVALUATIONS[batch]
    settings = {key: value for key, value in settings_of(batch).items() if key.startswith(("optimizer.", "lr_schedule."))}
    return {"Benchmark": "bert", "BS": batch, "Quality target": TARGET, "Evaluation samples": EVALUATION_SAMPLES,
            "First evaluation": first, "Evaluation interval": interval, "Hyperparams": settings, "Epochs to converge": counts}


def write_json(path, records):
    """Writes a record a line. The file is complete or absent."""
    unfinished = path.with_name(path.name + ".unfinished")
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(record)}" for name, record in records.items())
    try:
        unfinished.write_text("{\n" + lines + "\n}\n", encoding="utf-8")
        os.replace(unfinished, path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        sys.exit(f"{path}: {error.strerror}; name another file, or free space")


def write_points(table, path):
    rows = read_table(table)
    records = {}
    for batch in sorted(SETTINGS):
        runs = reference(rows, batch)
        reached = [run["samples"] for run in runs if run["reached_target"]]
        if len(reached) < FEWEST_RUNS:
            print(f"batch size {batch}: left out, because only {len(reached)} runs reached the target; {FEWEST_RUNS} are needed")
            continue
        if len(reached) < len(runs):
            print(f"batch size {batch}: {len(runs) - len(reached)} of {len(runs)} runs missed the target; left out")
        records[f"bert_quickstart_{batch}"] = record_of(batch, reached)
    if not records:
        sys.exit(f"{table} has too few runs for points")
    write_json(path, records)
    for record in records.values():
        batch, counts = record["BS"], record["Epochs to converge"]
        mean, deviation = statistics.mean(counts), statistics.stdev(counts)
        print(f"{batch}: {len(counts)} runs, mean {mean:.1f}, deviation {deviation:.1f}, {min(counts)} to {max(counts)}")


def judge(strata, points, runs):
    """Returns the verdict of `strata check rcp` on minimal logs, with only the events that it reads."""
    with tempfile.TemporaryDirectory() as folder:
        for number, run in enumerate(runs):
            first, interval = EVALUATIONS[FAULT_BATCH]
            events = [("submission_benchmark", "bert", {}), ("submission_division", "open", {}),
                      ("global_batch_size", FAULT_BATCH, {}), ("quality_target", TARGET, {}), ("run_start", None, {})]
            events += [("eval_accuracy", 0.1, {"epoch_num": count}) for count in range(first, run["samples"] + 1, interval)]
            events += [("eval_samples", EVALUATION_SAMPLES, {}),
                       ("run_stop", None, {"status": "success" if run["reached_target"] else "aborted"})]
            lines = [":::MLLOG " + json.dumps({"namespace": "", "time_ms": 1795408803587 + i, "event_type": "POINT_IN_TIME",
                                               "key": key, "value": value, "metadata": metadata})
                     for i, (key, value, metadata) in enumerate(events)]
            (Path(folder) / f"result_{number}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        words = [strata, "check", "rcp", folder, "--ruleset", "5.0", "--custom-rcps", str(points), "--json"]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            sys.exit(f"{' '.join(words)}: {done.stderr}")
        return json.loads(done.stdout)["sections"][0]["rcp"]


def report(arguments):
    rows = read_table(arguments.table)
    points = POINTS / "rcps_bert.json"
    pool = [run for run in current(rows, FAULT_BATCH) if run["reached_target"]]
    if not pool:
        sys.exit(f"{arguments.table} has no runs of batch size {FAULT_BATCH} without a fault")
    if not shutil.which(arguments.strata):
        sys.exit(f"{arguments.strata} is missing; name the program with --strata")
    print(f"{'fault':<24}{'runs':>5}  verdict of strata check rcp")
    for fault in FAULTS:
        runs = [row for row in current(rows, FAULT_BATCH, fault) if row["seed"] in FAULT_SEEDS]
        if runs:
            print(f"{fault:<24}{len(runs):>5}  {judge(arguments.strata, points, runs)['message']}")
    random.seed(1)
    sets, alarms = 100, 0
    with tempfile.TemporaryDirectory() as folder:
        drawn = Path(folder) / "points.json"
        for _ in range(sets):
            write_json(drawn, {"drawn": record_of(FAULT_BATCH, [run["samples"] for run in random.choices(pool, k=20)])})
            alarms += judge(arguments.strata, drawn, random.choices(pool, k=10))["outcome"] == "failed"
    print(f"{alarms} of {sets} sets of ten runs without a fault are rejected ({len(pool)} runs to draw from)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strata", default=str(ROOT / "build/quickstart/cli/strata"), help="the program; default: the quickstart's")
    parser.add_argument("--table", type=Path, default=POINTS / "runs.jsonl", help="the table of runs")
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--points", type=Path, help="write the points of the table to this file")
    one.add_argument("--fault", action="append", choices=[*FAULTS, "all"], help="train runs with this fault; repeatable")
    one.add_argument("--report", action="store_true", help="judge the faults' runs, and 100 sets of runs without a fault")
    parser.add_argument("--runs", type=int, default=20, help="runs per batch size; per fault at most ten")
    parser.add_argument("--batch-sizes", default=",".join(map(str, SETTINGS)), help="default: all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at a time; default: one per core")
    arguments = parser.parse_args()
    if arguments.points:
        write_points(arguments.table, arguments.points)
        return
    if arguments.report:
        report(arguments)
        return
    try:
        batches = list(dict.fromkeys(int(size) for size in arguments.batch_sizes.split(",")))
    except ValueError:
        batches = []
    if not batches or not set(batches) <= set(SETTINGS):
        parser.error(f"--batch-sizes {arguments.batch_sizes}: expected some of {', '.join(map(str, SETTINGS))}")
    if arguments.jobs < 1 or arguments.runs < 1:
        parser.error("--jobs and --runs must be at least 1")
    if not shutil.which(arguments.strata):
        parser.error(f"{arguments.strata} is missing; run scripts/quickstart.sh, or name the program with --strata")
    arguments.scratch = ROOT / "runs"
    arguments.scratch.mkdir(exist_ok=True)
    table = open_table(arguments.table)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    rows = read_table(arguments.table)
    # All batch sizes, or faults, have about as many runs at any time.
    if arguments.fault:
        faults = list(FAULTS) if "all" in arguments.fault else arguments.fault
        wanted = [(FAULT_BATCH, seed, fault) for seed in FAULT_SEEDS[:arguments.runs] for fault in faults]
    else:
        wanted = [(batch, seed, "none") for seed in range(1, arguments.runs + 1) for batch in batches]
    done = {(batch, row["seed"], fault) for batch, _, fault in wanted for row in current(rows, batch, fault)}
    todo = [run for run in wanted if run not in done]
    programs = {}  # program and commit by fault
    for fault in {fault for _, _, fault in todo}:
        program = build_faulty(fault) if "source" in FAULTS[fault] else arguments.strata
        programs[fault] = program, commit_of(program)
    jobs = 1 if any("ranks" in FAULTS[fault] for _, _, fault in todo) else arguments.jobs
    print(f"{len(todo)} runs to train, {len(wanted) - len(todo)} are in {arguments.table}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        failed = [text for text in pool.map(lambda run: train(arguments, table, programs, *run), todo) if text]
    for text in failed:
        print(text, file=sys.stderr)
    sys.exit(2 if failed else 130 if stopped.is_set() else 0)


if __name__ == "__main__":
    main()
