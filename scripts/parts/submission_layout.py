"""Writes one system's results of one benchmark into a folder that is laid out as a submission."""
import json
import shutil


def write_submission(submission, system, description, benchmark, logs, implementation, config, readme):
    """Adds systems/SYSTEM.json, the logs as result_N.txt in their order, and the implementation's configuration and README."""
    results = submission / "results" / system / benchmark
    code = submission / "benchmarks" / benchmark / "implementations" / implementation
    (submission / "systems").mkdir(parents=True, exist_ok=True)
    results.mkdir(parents=True)
    code.mkdir(parents=True)
    (submission / "systems" / f"{system}.json").write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
    for number, log in enumerate(logs):
        shutil.copyfile(log, results / f"result_{number}.txt")
    shutil.copyfile(config, code / config.name)
    (code / "README.md").write_text(readme, encoding="utf-8")
