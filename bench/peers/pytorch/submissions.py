"""Lays out the logs of quickstart_vs_pytorch.sh as two submissions.
Usage: submissions.py RUNS OUT SEEDS ROOT
RUNS: the script's folder, with strata.SEED/ and pytorch.SEED/. OUT: made anew. SEEDS: numbers, separated by blanks; result_N.txt
belongs to the Nth seed. ROOT: the checkout."""
import importlib.metadata
import json
import pathlib
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts/parts"))
from submission_layout import write_submission

PROGRAMS = {"Strata": "`strata train`", "PyTorch": "`bench/peers/pytorch/pytorch_train.py`"}


def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def main():
    runs, out, seeds, root = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3].split(), pathlib.Path(sys.argv[4])
    shutil.rmtree(out, ignore_errors=True)
    description = next((runs / f"strata.{seeds[0]}").glob("*/systems/*.json"))
    fields = json.loads(description.read_text(encoding="utf-8"))
    torch = json.loads((runs / f"pytorch.{seeds[0]}.json").read_text(encoding="utf-8"))
    system = description.stem
    process = system.rsplit("_", 1)[0] + "_1process"
    pytorch = fields | {
        "submitter": "PyTorch", "system_name": process, "hw_notes": f"{torch['threads']} threads",
        "framework": f"PyTorch {torch['torch']}",
        "other_software_stack": {name: version_of(name) for name in ("transformers", "mlperf-logging")},
        "sw_notes": fields["sw_notes"].split("; ", 1)[-1]}
    commit = subprocess.run(["git", "-C", str(root), "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    options = (runs / "asked.txt").read_text(encoding="utf-8").strip()
    for name, place, facts in (("Strata", system, fields), ("PyTorch", process, pytorch)):
        logs = [next((runs / f"{name.lower()}.{seed}").rglob("result_0.txt")) for seed in seeds]
        write_submission(out / name, place, facts, "bert", logs, name.lower(), root / "scripts/configs/quickstart.yaml", f"""# {name}

Made by {PROGRAMS[name]}, in turns with the other submission, at commit {commit or 'unknown'} of Strata:

    bench/peers/quickstart_vs_pytorch.sh --logs FOLDER {options}
""")


if __name__ == "__main__":
    main()
