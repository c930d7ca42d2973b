"""Sums up the steps of scripts/gpu_check.sh so far: as JSON, as a table, and as answers to questions 1 to 6 of docs/cuda.md
("The first run must answer these questions"). Exits 1 if a step failed.
Usage: gpu_check_report.py FOLDER GPU VERSION OUTPUT
FOLDER: NAME.verdict, NAME.seconds and NAME.txt of every step; order.txt: the steps' names. GPU: "name, driver, capability"."""
import csv
import json
import os
import pathlib
import re
import sys

sys.stdout.reconfigure(errors="backslashreplace")
work, gpu, version, output = pathlib.Path(sys.argv[1]), *sys.argv[2:5]
LAST_LINES = 60
STEPS = {"benchmark": "bench_step", "graphs": "bench_step_graphs", "fp8": "bench_step_fp8",
         "epilogues_never": "bench_step_epilogues_never", "epilogues_always": "bench_step_epilogues_always",
         "small": "bench_step_small", "small_graphs": "bench_step_small_graphs", "ranks": "bench_step_ranks",
         "ranks_sharded": "bench_step_ranks_sharded", "ranks_graphs": "bench_step_ranks_graphs"}
OPERATIONS = {"operations": "bench_operations", "operations_fp8": "bench_operations_fp8",
              **{f"attention_{kernel}": f"bench_attention_{kernel}"
                 for kernel in ("mma", "wgmma", "ours_no_dropout", "cudnn_no_dropout")}}
DESCRIPTIONS = {"benchmark": "issued", "graphs": "graphs", "fp8": "fp8, graphs", "epilogues_never": "no epilogues",
                "epilogues_always": "all epilogues", "small": "issued", "small_graphs": "graphs",
                "ranks": "ranks", "ranks_sharded": "ranks, sharded", "ranks_graphs": "ranks, graphs"}


def read(name):
    path = work / name
    return path.read_text(encoding="utf-8", errors="replace").strip() if path.exists() else ""


def lines_of(name):
    """Its lines, none of them endless."""
    return [line[:1000] for line in read(name).splitlines()]


def json_of(name):
    """The first object that a step printed, or None."""
    text = read(f"{name}.txt")
    try:
        found = json.JSONDecoder().raw_decode(text, text.index("{\n"))[0]
    except ValueError:
        return None
    found.pop("lengths", None)
    return found


def profile():
    """ncu's metrics of each kernel: {kernel: {metric: text}}."""
    lines = read("profile.txt").splitlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    kernels = {}
    for row in csv.DictReader(line for line in lines[begin:] if line.startswith('"')):
        if row.get("Metric Name"):
            kernel = re.sub(r"<.*|\(.*", "", row.get("Kernel Name", "")).split("::")[-1]
            kernels.setdefault(kernel, {})[row["Metric Name"]] = f"{row['Metric Value']} {row['Metric Unit']}".strip()
    return kernels


def why_it_failed(name):
    """Lines of the run with CUDA_LAUNCH_BLOCKING=1, or else of the first."""
    lines = lines_of(f"{name}.blocking.txt") or lines_of(f"{name}.txt")
    return next((line.strip()[:300] for line in lines if re.search(r"Failure|cuda:|NCCL|rror", line)), "see last_lines")


def is_whole(name, found):
    """Whether a step's object has what is read from it below."""
    if name in OPERATIONS:
        return {"operations", "copy_peak_bytes_per_second"} <= found.keys() and all(
            "unsteady" in o for o in found["operations"])
    seconds = found.get("seconds")
    return isinstance(seconds, dict) and "step" in seconds and {
        "sequences_per_step", "sequences_per_second", "share_of_matrix_peak",
        "matrix_peak_flops_per_second"} <= found.keys()


# ---- Results so far

steps, results = {}, {}
for name in read("order.txt").split():
    seconds = read(f"{name}.seconds")
    step = steps[name] = {"verdict": read(f"{name}.verdict") or "not run", "seconds": int(seconds) if seconds else None}
    if name in STEPS | OPERATIONS and step["verdict"] == "passed":
        if (found := json_of(name)) and is_whole(name, found):
            results[(STEPS | OPERATIONS)[name]] = found
        else:
            step["verdict"] = "failed: no JSON"
    if step["verdict"].startswith("failed"):
        step["last_lines"] = lines_of(f"{name}.txt")[-LAST_LINES:]
        if (work / f"{name}.blocking.txt").exists():
            step["last_lines_with_launch_blocking"] = lines_of(f"{name}.blocking.txt")[-LAST_LINES:]
        if (work / f"{name}.cublaslt.txt").exists():
            step["cublaslt_log"] = lines_of(f"{name}.cublaslt.txt")[:LAST_LINES]
if (work / "pytorch.json").exists():
    try:
        results["gpu_vs_pytorch"] = json.loads(read("pytorch.json"))
    except ValueError:
        pass  # it was stopped while it wrote
if kernels := profile():
    results["attention_profile"] = kernels
gpu, driver, capability = gpu.rsplit(", ", 2) if gpu.count(", ") >= 2 else (gpu, None, None)
memory = re.findall(r"\d+", read("memory.txt"))
memory = {"free": int(memory[0]), "total": int(memory[1])} if len(memory) == 2 else None


def named(name):
    """Returns the result of a step, or None."""
    return results.get((STEPS | OPERATIONS).get(name))


def seconds_of(name):
    return named(name)["seconds"]["step"] if named(name) else None


def operations_of(name):
    return named(name)["operations"] if named(name) else []


def verdicts(prefix):
    """"N passed; failed: ...; not finished: ..." of steps that begin so, with reasons."""
    chosen = {name[len(prefix):]: step["verdict"] for name, step in steps.items() if name.startswith(prefix)}
    parts = [f"{sum(verdict == 'passed' for verdict in chosen.values())} of {len(chosen)} passed"]
    for kind in ("failed", "not finished", "not run", "skipped", "needs a GPU"):
        found = [suite for suite, verdict in chosen.items() if verdict.startswith(kind)]
        if found:
            parts.append(f"{kind}: {', '.join(found)}")
    return "; ".join(parts)


def absent(*names):
    """Why there is no measurement."""
    return "; ".join(f"{name}: {steps[name]['verdict']}" for name in names
                     if name in steps and not (steps[name]["verdict"] == "passed")) or "nothing measured"


def gain(before, after, what):
    a, b = seconds_of(before), seconds_of(after)
    if not a or not b:
        return absent(before, after)
    return f"{what} {1e3 * a:.2f} -> {1e3 * b:.2f} ms a step ({100 * (a / b - 1):+.1f} % sequences/s)"


# ---- Answers

answers = {}


def conformance():
    text = verdicts("conformance.") + f"; model against PyTorch in double: {steps['model']['verdict']}"
    failed = [name for name, step in steps.items()
              if (name.startswith("conformance.") or name == "model") and step["verdict"].startswith("failed")]
    return text + "".join(f"; {name}: {why_it_failed(name)}" for name in failed)


def sanitizer():
    return f"memcheck {verdicts('sanitizer.')}; racecheck {verdicts('races.')}"


def speed():
    bench = named("benchmark")
    if not bench:
        return absent("benchmark")
    text = (f"{bench['sequences_per_second']:.0f} sequences/s, {100 * bench['share_of_matrix_peak']:.1f} % of the matrix "
            f"peak of {1e-12 * bench['matrix_peak_flops_per_second']:.4g} TFLOP/s")
    phases = bench["seconds"]
    if "forward" in phases:
        text += (f"; forward {1e3 * phases['forward']:.1f} ms, backward {1e3 * phases['backward']:.1f} ms, "
                 f"{1e3 * phases['reduce_and_update_after_backward']:.1f} ms left after it")
    return text


def pytorch():
    found = results.get("gpu_vs_pytorch")
    if not found or not found.get("ratio_to_best_pytorch"):
        return absent("pytorch")
    rates = ", ".join(f"{name} {rate:.0f}" for name, rate in found["pytorch_sequences_per_second"].items())
    missing = "".join(f"; missing: {name}" for name in found["missing"])
    return (f"{found['ratio_to_best_pytorch']:.2f} times the fastest of PyTorch {found['torch']} ({rates} sequences/s; "
            f"Strata {found['strata_sequences_per_second']:.0f}){missing}")


def share(o):
    return f"{100 * o['share_of_peak']:.0f} %" + (" (unsteady)" if o["unsteady"] else "")


def memory_bound():
    operations = [o for o in operations_of("operations") if o["flops"] == 0]
    if not operations:
        return absent("operations")
    slow = [f"{o['operation']} {share(o)}" for o in operations if o["share_of_peak"] < 0.8]
    copy = named("operations")["copy_peak_bytes_per_second"]
    return f"below 80 % of the copy peak of {1e-9 * copy:.0f} GB/s: {', '.join(slow) or 'none'}"


def attention_times(name):
    times = {o["operation"]: o for o in operations_of(name)}
    if "attention_forward" not in times or "attention_backward" not in times:
        return absent(name)
    forward, backward = times["attention_forward"], times["attention_backward"]
    return " + ".join(f"{1e3 * o['seconds']:.3f} ms ({1e-12 * o['flops'] / o['seconds']:.3g} TFLOP/s)"
                      for o in (forward, backward))


def attention():
    text = "; ".join(f"{kernel} {attention_times(f'attention_{kernel}')}" for kernel in ("mma", "wgmma"))
    return f"forward + backward of a layer: {text}"


def attention_without_dropout():
    return "; ".join(f"{title} {attention_times(f'attention_{kernel}_no_dropout')}"
                     for kernel, title in (("ours", "ours"), ("cudnn", "cuDNN's")))


def attention_bound():
    kernels = results.get("attention_profile")
    if not kernels:
        return absent("profile")
    wanted = ("Compute (SM) Throughput", "L1/TEX Cache Throughput", "DRAM Throughput", "One or More Eligible",
              "Warp Cycles Per Issued Instruction")
    return "; ".join(f"{kernel}: " + ", ".join(f"{name} {metrics[name]}" for name in wanted if name in metrics)
                     for kernel, metrics in kernels.items())


def warm_up():
    bench = named("benchmark")
    return (f"{bench['seconds']['start_to_first_measured_step']:.1f} s from the process's start to the first measured step"
            if bench and "start_to_first_measured_step" in bench["seconds"] else absent("benchmark"))


def graph_memory():
    found = {name: named(name)["graphs"] for name in ("graphs", "small_graphs") if named(name) and "graphs" in named(name)}
    if not found:
        return absent("graphs") if not named("graphs") else "`bench step` does not tell what graphs take"
    parts = []
    for name, graphs in found.items():
        captured, taken = graphs["captured"], graphs["bytes"]
        each = taken / captured if captured else 0
        parts.append(f"{name}: {captured} take {taken / 1e6:.1f} MB, {each / 1e6:.2f} MB each, 256 of them {256 * each / 1e9:.2f} GB")
    return "; ".join(parts)


def fp8_operations():
    bf16 = {(o["operation"], o["where"]): o for o in operations_of("operations")}
    fp8 = operations_of("operations_fp8")
    if not bf16 or not fp8:
        return absent("operations", "operations_fp8")
    pairs = [f"{o['where']} {1e3 * bf16[key]['seconds']:.3f} -> {1e3 * o['seconds']:.3f} ms" for o in fp8
             if o["operation"] == "linear_weight_gradient" and (key := (o["operation"], o["where"])) in bf16]
    writers = [f"{o['operation']} {share(o)}" for o in fp8
               if o["flops"] == 0 and o["operation"].split("_")[0] in ("residual", "embeddings", "round")]
    return (f"linear_weight_gradient, transposition included: {', '.join(pairs)}; what writes FP8 data, of the copy peak: "
            f"{', '.join(dict.fromkeys(writers))}")


def one_by_one():
    whole, operations = seconds_of("benchmark"), operations_of("operations")
    if not whole or not operations:
        return absent("benchmark", "operations")
    together = sum(o["per_step"] * o["seconds"] for o in operations)
    return f"operations one by one take {1e3 * together:.2f} ms, a step {1e3 * whole:.2f} ms"


def time_and_share(o, precision):
    """Time of an operation, its share of the peak, and a "~" if the rounds' quartiles are far apart."""
    return f"{1e3 * o['seconds']:>9.4f} ms{precision}{100 * o['share_of_peak']:>7.1f} %{'~' if o['unsteady'] else ' '}"


large, small = (f"{named(name)['sequences_per_step']} sequences" if named(name) else "a step"
                for name in ("benchmark", "small"))
answers = {
    "1 conformance": conformance(),
    "2 sanitizer": sanitizer(),
    "3 speed": speed(),
    "3 PyTorch": pytorch(),
    "3 memory-bound operations": memory_bound(),
    "4 attention": attention(),
    "4 attention, no dropout": attention_without_dropout(),
    "4 what bounds attention": attention_bound(),
    "4 epilogues": gain("epilogues_never", "benchmark", "never -> where faster:") + "; " +
                   gain("epilogues_never", "epilogues_always", "never -> always:"),
    "5 between kernels": one_by_one(),
    "5 graphs": f"{large}: {gain('benchmark', 'graphs', 'issued -> graphs:')}; "
                f"{small}: {gain('small', 'small_graphs', 'issued -> graphs:')}",
    "5 warm-up": warm_up(),
    "5 memory of graphs": graph_memory(),
    "6 fp8": f"conformance: {steps['conformance.Float8']['verdict']}; {gain('graphs', 'fp8', 'bf16 -> fp8, graphs:')}",
    "6 fp8 operations": fp8_operations(),
    "free memory": f"{memory['free']} of {memory['total']} MiB when the check began" if memory else "unknown",
}
if any(named(name) for name in ("ranks", "ranks_sharded", "ranks_graphs")):
    answers["ranks"] = "; ".join(f"{DESCRIPTIONS[name]} {named(name)['sequences_per_second']:.0f} sequences/s on "
                                 f"{named(name)['ranks']}" for name in STEPS if name.startswith("ranks") and named(name))
if pinned := read("pinned.txt"):
    answers["attention of later steps"] = pinned

# ---- JSON and the table

result = {"gpu": gpu, "driver": driver, "compute_capability": capability, "strata": version, "memory_mib": memory,
          "pinned_attention": pinned or None, "steps": steps, "answers": answers, **results}
unfinished = pathlib.Path(output + ".unfinished")
try:
    unfinished.write_text(json.dumps(result, indent=2) + "\n")
    os.replace(unfinished, output)
except OSError:
    unfinished.unlink(missing_ok=True)
    raise

print(f"\n{'step':<38}{'seconds':>8}  verdict")
to_come = [name for name, step in steps.items() if step["verdict"] == "not run"]
for name, step in steps.items():
    if name not in to_come:
        print(f"{name:<38}{step['seconds'] if step['seconds'] is not None else '-':>8}  {step['verdict']}")
print(f"not run yet: {', '.join(to_come)}\n" if to_come else "")
for name in STEPS:
    if bench := named(name):
        print(f"{bench['sequences_per_step']:>4} sequences a step, {DESCRIPTIONS[name]:<15}{bench['sequences_per_second']:>8.0f} "
              f"sequences/s{1e3 * bench['seconds']['step']:>9.2f} ms a step "
              f"{100 * bench['share_of_matrix_peak']:>5.1f} % of the matrix peak, "
              f"{bench['seconds'].get('start_to_first_measured_step', 0):.1f} s to the first step")
if operations_of("operations"):
    in_fp8 = {(o["operation"], o["where"]): o for o in operations_of("operations_fp8")}
    print("operations, share of the matrix or copy peak; ~: quartiles of the time are more than 10 % of it apart:")
    for o in operations_of("operations"):
        name = o["operation"] + (f" ({o['where']})" if o["where"] else "")
        fp8 = in_fp8.pop((o["operation"], o["where"]), None)
        print(f"  {name:<62}{time_and_share(o, '')}" + (time_and_share(fp8, " in fp8") if fp8 else ""))
    for (operation, where), o in in_fp8.items():
        print(f"  {f'{operation} ({where})':<83}{time_and_share(o, ' in fp8')}")
print("\nanswers (docs/cuda.md, \"The first run must answer these questions\")")
for question, answer in answers.items():
    print(f"{question:<26} {answer}")
print(f"written to {output}")
sys.exit(any(step["verdict"].startswith("failed") for step in steps.values()))
