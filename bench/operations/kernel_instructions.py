#!/usr/bin/env python3
"""Counts the machine instructions of CUDA kernels, loop by loop: what bounds a kernel that waits neither for memory nor
for tensor cores, seen without a GPU.

    bench/operations/kernel_instructions.py device/cuda/attention/attention_wgmma.cu [--kernel NAME]... [--arch sm_90a] [--json]
                                 [--nvcc PATH] [--nvdisasm PATH]

Prints registers a thread, instructions in all, and of every loop those between its first and its last instruction,
including loops inside it and branches not taken. A warp issues one instruction a cycle at most; a multiprocessor has
four schedulers. Needs nvcc and nvdisasm, which comes with CUDA's toolkit, or from PyPI: pip install
nvidia-cuda-nvdisasm.
"""

import argparse
import collections
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHOWN = 8  # kinds of instructions per loop


def run(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        sys.exit(f"kernel_instructions.py: cannot run {command[0]}: {error.strerror}; see --help")
    if done.returncode != 0:
        sys.exit(f"kernel_instructions.py: {command[0]} failed:\n{done.stderr}")
    return done


def kind_of(instruction):
    """The opcode, with what tells loads, products and functions of one name apart."""
    opcode = re.sub(r"^@!?U?P\w+\s+", "", instruction).split()[0].split(".")
    detailed = opcode[0].startswith(("IMAD", "LD", "ST", "MUFU", "HMMA"))
    return ".".join(opcode[:2]) if detailed else opcode[0]


def loops_of(instructions, labels):
    """(first, last) of every backward branch but the one after the end, outer loops before inner ones."""
    loops = []
    for last, instruction in enumerate(instructions):
        target = re.search(r"BRA.*`\((\.L_x_\d+)\)", instruction)
        if target and labels.get(target.group(1), last) < last:
            loops.append((labels[target.group(1)], last))
    return sorted(loops, key=lambda loop: (loop[0], -loop[1]))


def kernels_of(sass):
    """Name -> (instructions, labels)."""
    kernels, current = {}, None
    for line in sass.splitlines():
        if section := re.match(r"\s*\.section\s+\.text\.([^,]+),", line):
            current = kernels.setdefault(section.group(1), ([], {}))
        elif current and (label := re.match(r"(\.L_x_\d+):", line.strip())):
            current[1][label.group(1)] = len(current[0])
        elif current and (instruction := re.match(r"\s*/\*[0-9a-f]+\*/\s+(.*?);", line)):
            current[0].append(instruction.group(1).strip())
    return kernels


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", help="a .cu file")
    parser.add_argument("--kernel", action="append", default=[], help="only kernels whose name has this (repeatable)")
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    parser.add_argument("--nvdisasm", default=shutil.which("nvdisasm") or "nvdisasm")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        cubin = f"{work}/kernels.cubin"
        report = run([options.nvcc, "-std=c++20", "-O3", "--expt-relaxed-constexpr", f"-I{ROOT}",
                      f"-arch={options.arch}", "-Xptxas", "-v", "-cubin", "-o", cubin, options.source]).stderr
        sass = run([options.nvdisasm, "-c", cubin]).stdout
    registers = dict(re.findall(r"Compiling entry function '(\S+)'.*?Used (\d+) registers", report, re.DOTALL))
    result = []
    for name, (instructions, labels) in kernels_of(sass).items():
        readable = run(["c++filt", name]).stdout.strip().replace("(anonymous namespace)::", "")
        readable = re.sub(r"^void ", "", readable).replace("strata::device::cuda::", "").split("(")[0]
        if options.kernel and not any(wanted in readable for wanted in options.kernel):
            continue
        result.append({
            "kernel": readable,
            "registers": int(registers.get(name, 0)),
            "instructions": len(instructions),
            "loops": [{"first": first, "last": last, "instructions": last - first + 1,
                       "kinds": dict(collections.Counter(map(kind_of, instructions[first:last + 1])).most_common())}
                      for first, last in loops_of(instructions, labels)]})
    if not result:
        sys.exit(f"kernel_instructions.py: {options.source} has no such kernel")
    if options.json:
        print(json.dumps(result, indent=1))
        return
    for kernel in sorted(result, key=lambda k: k["kernel"]):
        print(f"{kernel['kernel']}: {kernel['registers']} registers, {kernel['instructions']} instructions")
        ends = []
        for loop in kernel["loops"]:
            ends = [end for end in ends if end >= loop["last"]]
            kinds = ", ".join(f"{count} {kind}" for kind, count in list(loop["kinds"].items())[:SHOWN])
            print(f"{'  ' * (len(ends) + 1)}loop of {loop['instructions']}: {kinds}, ...")
            ends.append(loop["last"])


if __name__ == "__main__":
    main()
