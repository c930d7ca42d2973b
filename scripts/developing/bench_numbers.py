"""Makes and reads the numbers of scripts/bench.sh. Usage:
  bench_numbers.py logs FILE FOLDER COUNT      fills the folder with large logs of passing runs, made of the events of FILE
  bench_numbers.py check STRATA FOLDER         prints JSON: processor seconds of `strata check log` on one thread
  bench_numbers.py times KIND FILE...          prints the numbers to compare of commands' JSON; KIND: step, overlap, operations, check
  bench_numbers.py history OLD NEW COMPARISON  prints a line for the history; COMPARISON: what `strata compare --json` wrote
"""
import datetime
import json
import os
import pathlib
import re
import resource
import subprocess
import sys

EVENTS = 2000  # events in every log, besides those of FILE


def logs(file, folder, count):
    lines = pathlib.Path(file).read_text().splitlines()
    begin = next(i for i, line in enumerate(lines) if '"run_start"' in line) + 1
    event = json.loads(lines[begin - 1].removeprefix(":::MLLOG "))
    event |= {"event_type": "POINT_IN_TIME", "key": "tracked_stats", "value": {"throughput": 1234.5, "loss": 2.25}, "metadata": {"step": 1}}
    text = "\n".join([*lines[:begin], *[":::MLLOG " + json.dumps(event)] * EVENTS, *lines[begin:]]) + "\n"
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for number in range(int(count)):
        (pathlib.Path(folder) / f"result_{number}.txt").write_text(text)


def check(strata, folder):
    def spent():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = spent()
    done = subprocess.run([strata, "check", "log", "--quiet", "--threads", "1", folder], stdout=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"strata check log: exit status {done.returncode}")
    print(json.dumps({"seconds": spent() - before}))


def numbers_of(kind, found):
    if kind == "step":
        return {"seconds": found["seconds"]["step"]}
    if kind == "overlap":
        return {mode["mode"]: {"step_seconds": mode["step_seconds"]} for mode in found["modes"]}
    if kind == "operations":
        return {f"{o['operation']} ({o['where']})" if o["where"] else o["operation"]: {"seconds": o["seconds"]}
                for o in found["operations"]}
    return {"seconds": found["seconds"]}


def times(*pairs):
    print(json.dumps({kind: numbers_of(kind, json.loads(pathlib.Path(file).read_text()))
                      for kind, file in zip(pairs[::2], pairs[1::2])}))


def processor():
    text = pathlib.Path("/proc/cpuinfo").read_text()

    def field(name):
        match = re.search(rf"^{name}\s*: (.*)$", text, re.MULTILINE)
        return match[1] if match else "?"

    cores = len(os.sched_getaffinity(0))
    return (f"{field('model name')} ({field('vendor_id')} family {field('cpu family')} model {field('model')}), "
            f"{cores} core{'s' if cores > 1 else ''}")


def history(old, new, comparison):
    numbers = {}
    for quantity in json.loads(pathlib.Path(comparison).read_text())["comparisons"][0]["quantities"]:
        if quantity["difference"] is not None:
            interval = quantity["interval"]
            numbers[quantity["name"]] = {"ratio": 1 + quantity["difference"], "p": quantity["p"],
                                         "interval": interval and [1 + end for end in interval]}
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
    print(json.dumps({"version": 1, "date": now, "old": old, "new": new, "processor": processor(), "numbers": numbers}))


{"logs": logs, "check": check, "times": times, "history": history}[sys.argv[1]](*sys.argv[2:])
