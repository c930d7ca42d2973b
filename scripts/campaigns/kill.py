#!/usr/bin/env python3
"""Kills runs of a small model at random moments and resumes them.

A run on 1 to 4 ranks takes checkpoints. One of its ranks gets SIGKILL, SIGTERM, SIGINT, SIGHUP or SIGSTOP at a random
moment, and one run in four once more after it was resumed. Wanted: the whole job ends within 10 s (a stopped rank that is
alone goes on instead), its log is valid, and
the resumed run has the weights and losses, bit for bit, of one that was never interrupted. What the log said before is kept.

Each run follows from --seed and its number: --replay N does it again.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 10.0  # seconds for a job to end after the signal
STEPS = 300
SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSTOP]
LAUNCHERS = {"mpirun": [str(ROOT / "scripts/mpirun.sh")],
             "srun": ["srun", "--mpi=pmix", "--kill-on-bad-exit=1", "--cpu-bind=none", "--overcommit"]}  # as in train.sbatch

MODEL = {"vocab_size": 32, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
         "max_position_embeddings": 48, "type_vocab_size": 2, "hidden_act": "gelu"}
CONFIG = f"""\
run: {{system: small, seed: 5, stall_seconds: 3, output: OUTPUT}}
model: {{config: model.json, precision: fp32, hidden_dropout: 0.1}}
device: {{threads: 1}}
data: {{train: data/train.hdf5, eval: data/eval.hdf5, max_length: 48}}
batch: {{micro_batch: 2, load_balance: {{strata: [16, 32, 48]}}}}
optimizer: {{lr: 2e-4, sharded: SHARDED}}
lr_schedule: {{warmup_steps: 5, training_steps: {STEPS}}}
target: {{masked_lm_accuracy: 1, eval_interval_samples: 100, max_steps: {STEPS}}}
checkpoint: {{every_steps: 25}}
log: {{save_checkpoint: true, step_trace: true}}
"""


def text():
    lines = []
    for document in range(40):
        for sentence in range(6):
            words = range(4 + (document + sentence) % 5)
            lines.append(" ".join("and " + chr(ord("a") + (document * 7 + word * 3) % 26) for word in words))
        lines.append("")
    return "\n".join(lines) + "\n"


class Benchmark:
    """Data and configurations that all runs share, and the uninterrupted runs that they are compared with."""

    def __init__(self, strata, folder, launcher):
        self.strata, self.folder, self.launcher, self.whole = str(strata), folder, launcher, {}
        (folder / "text.txt").write_text(text())
        letters = [chr(ord("a") + i) for i in range(26)]
        (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "and", *letters]) + "\n")
        (folder / "model.json").write_text(json.dumps(MODEL))
        subprocess.run([self.strata, "data", "prepare", "--text", "text.txt", "--vocab", "vocab.txt", "--out", "data",
                        "--max-length", "48", "--max-predictions", "8", "--eval-every", "10", "--dupe-factor", "3"], cwd=folder, check=True, capture_output=True)

    def command(self, ranks, output, sharded, more=()):
        config = self.folder / f"{output.name}.yaml"
        config.write_text(CONFIG.replace("OUTPUT", str(output)).replace("SHARDED", "state" if sharded else "none"))
        launcher = [*self.launcher, "-n", str(ranks)] if ranks > 1 else []
        return [*launcher, self.strata, "train", "--config", str(config), *more]

    def uninterrupted(self, ranks, sharded):
        if (ranks, sharded) not in self.whole:
            output = self.folder / f"whole_{ranks}_{sharded}"
            begin = time.monotonic()
            subprocess.run(self.command(ranks, output, sharded), capture_output=True)
            self.whole[ranks, sharded] = (Result(output), time.monotonic() - begin)
        return self.whole[ranks, sharded]


class Result:
    """The files of the one experiment below an output folder."""

    def __init__(self, output):
        self.folder = output / "Strata/results/small/bert"
        self.log = self.folder / "result_0.txt"

    def weights(self):
        path = self.folder / "result_0.safetensors"
        return path.read_bytes() if path.exists() else b""

    def losses(self):
        lines = (self.folder / "result_0.steps.jsonl").read_text().splitlines()
        keys = ("step", "masked_lm_loss", "next_sentence_loss", "learning_rate")
        return [[step[key] for key in keys] for step in map(json.loads, lines)]

    def events(self):
        """(key, metadata) of every event; raises ValueError where a line is not whole."""
        content = self.log.read_text() if self.log.exists() else ""
        if content and not content.endswith("\n"):
            raise ValueError("the log's last line is torn")
        events = [json.loads(line.removeprefix(":::MLLOG ")) for line in content.splitlines()]
        return [(event["key"], event["metadata"]) for event in events]

    def ended(self):
        return any(key == "run_stop" for key, _ in self.events())


def processes_of(strata, output):
    """Ranks by number, and all processes, whose command names this output's configuration."""
    ranks, everyone = {}, []
    wanted = f"/{output.name}.yaml".encode()
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            command = Path(f"/proc/{entry}/cmdline").read_bytes()
            keeps_the_log = Path(f"/proc/{entry}/comm").read_text().startswith("strata-keeper")
            if wanted not in command or keeps_the_log:
                continue
            everyone.append(int(entry))
            program = command.split(b"\0")[0].decode()
            if program == strata:
                environment = Path(f"/proc/{entry}/environ").read_bytes().split(b"\0")
                rank = [v for v in environment if v.startswith((b"OMPI_COMM_WORLD_RANK=", b"PMIX_RANK="))]
                ranks[int(rank[0].split(b"=")[1]) if rank else 0] = int(entry)
        except (OSError, ValueError):
            continue
    return ranks, everyone


def wait_until(condition, limit):
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def interrupt(benchmark, command, output, number, delay, victim):
    """Starts the job and signals a rank. Returns (what happened, violations)."""
    problems = []
    messages = benchmark.folder / f"{output.name}.err"
    with open(messages, "w") as errors:
        job = subprocess.Popen(command, stdout=errors, stderr=errors)
    time.sleep(delay)
    ranks, _ = processes_of(benchmark.strata, output)
    if job.poll() is not None or victim not in ranks:
        if job.poll() is None:  # no rank has started yet
            job.send_signal(signal.SIGTERM)
        job.wait()
        wait_until(lambda: not processes_of(benchmark.strata, output)[1], LIMIT)
        return "ended first" if Result(output).ended() else "not begun", problems
    os.kill(ranks[victim], number)
    sent = time.monotonic()
    if number == signal.SIGSTOP and len(ranks) == 1:  # no other rank can notice
        time.sleep(0.5)
        os.kill(ranks[victim], signal.SIGCONT)
        job.wait()
        return "went on", problems
    gone = wait_until(lambda: job.poll() is not None and not processes_of(benchmark.strata, output)[1], LIMIT)
    took = time.monotonic() - sent
    if not gone:
        problems.append(f"still runs {LIMIT:.0f} s after {signal.Signals(number).name}")
        for process in processes_of(benchmark.strata, output)[1]:
            os.kill(process, signal.SIGKILL)
        job.kill()
        job.wait()
    result = Result(output)
    begun = any(key == "run_start" for key, _ in result.events())
    if begun and not wait_until(result.ended, 5):
        problems.append("the log has no run_stop")
    return f"{took:.1f} s", problems


def one_run(benchmark, seed, index):
    random_ = random.Random(f"{seed}/{index}")
    ranks, sharded = random_.randint(1, 4), random_.random() < 0.5
    whole, seconds = benchmark.uninterrupted(ranks, sharded)
    output = benchmark.folder / f"run_{index}"
    shutil.rmtree(output, ignore_errors=True)
    record = {"run": index, "ranks": ranks, "sharded": sharded, "interruptions": [], "problems": []}
    before = []
    for time_ in range(1 + (random_.random() < 0.25)):
        number, victim = random_.choice(SIGNALS), random_.randrange(ranks)
        delay = random_.uniform(0.05, 1.05 * seconds)
        what, problems = interrupt(benchmark, benchmark.command(ranks, output, sharded, ["--resume"] if time_ else []), output,
                                   number, delay, victim)
        record["interruptions"].append([signal.Signals(number).name, victim, round(delay, 2), what])
        record["problems"] += problems
        result = Result(output)
        if any(key == "run_start" for key, _ in result.events()):  # a run that has not begun leaves no log
            before.append(result.log.read_text())
    resumed = subprocess.run(benchmark.command(ranks, output, sharded, ["--resume"]), capture_output=True, text=True)
    record["problems"] += compare(benchmark, Result(output), whole, before, resumed)
    record["resumed"] = "continues after step" in resumed.stderr
    record["unsaved"] = unsaved(resumed)
    if not record["problems"]:
        shutil.rmtree(output, ignore_errors=True)
    return record


def unsaved(resumed):
    """Whether the run had been killed after its run_stop, before its weights were written: there are none to compare."""
    return "its weights are missing, and no checkpoint" in resumed.stderr


def compare(benchmark, result, whole, before, resumed):
    problems = []
    if resumed.returncode not in (0, 1):
        said = [line for line in resumed.stderr.splitlines() if "strata" in line]
        return [f"--resume ends with {resumed.returncode}: {' / '.join(said[-5:])}"]
    if not unsaved(resumed) and (result.weights() != whole.weights() or not whole.weights()):
        problems.append("the weights are others than those of the uninterrupted run")
    if result.losses() != whole.losses():
        problems.append("the losses are others than those of the uninterrupted run")
    logs = [path.read_text() for path in result.folder.glob("result_0.txt*")]
    for old in before:
        if not any(log.startswith(old) for log in logs):
            problems.append("what the log said before is lost")
    checked = subprocess.run([benchmark.strata, "check", "log", "--ruleset", "5.0.0", str(result.log)], capture_output=True,
                             text=True)
    if checked.returncode != 0:
        problems.append("check log: " + checked.stdout[-500:])
    if (result.folder / "result_0.checkpoints").exists():
        problems.append("checkpoints are left after the run has ended")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strata", type=Path, default=ROOT / "build/release/cli/strata", help="the program (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=200, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of all runs (default: %(default)s)")
    parser.add_argument("--replay", type=int, help="only the run of this number")
    parser.add_argument("--launcher", choices=LAUNCHERS, default="mpirun", help="what starts ranks (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="write every run's record here, a line each")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    folder = Path(tempfile.mkdtemp(prefix="strata-kill."))
    benchmark = Benchmark(options.strata.resolve(), folder, LAUNCHERS[options.launcher])
    records = []
    for index in [options.replay] if options.replay is not None else range(options.runs):
        record = one_run(benchmark, options.seed, index)
        records.append(record)
        if options.json:
            with open(options.json, "a") as file:
                file.write(json.dumps(record) + "\n")
        marks = ", ".join(f"{name} to rank {rank} after {delay} s: {what}" for name, rank, delay, what in record["interruptions"])
        print(f"{len(records)}/{options.runs} run {index}, {record['ranks']} ranks: {marks}"
              f"{', resumed' if record['resumed'] else ''}{', weights not saved' if record['unsaved'] else ''}{''.join(' !! ' + p for p in record['problems'])}", flush=True)
    print_table(records)
    failed = [record["run"] for record in records if record["problems"]]
    if failed:
        sys.exit(f"runs with problems: {failed}; their files: {folder}")
    shutil.rmtree(folder)


def print_table(records):
    print(f"\n{'signal':8} {'sent':>5} {'ended it':>9} {'slowest':>8}")
    for number in SIGNALS:
        sent = [i for r in records for i in r["interruptions"] if i[0] == number.name]
        times = [float(what.split()[0]) for *_, what in sent if what.endswith(" s")]
        print(f"{number.name:8} {len(sent):5} {len(times):9} {max(times, default=0):6.1f} s")
    print(f"{len(records)} runs, {sum(r['resumed'] for r in records)} went on from a checkpoint, "
          f"{sum(r['unsaved'] for r in records)} were killed between run_stop and their last files, "
          f"{sum(bool(r['problems']) for r in records)} with problems")


if __name__ == "__main__":
    main()
