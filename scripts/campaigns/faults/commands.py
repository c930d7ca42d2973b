"""The commands whose calls fail, and the small inputs they run on."""

import dataclasses
import json
import pathlib
import re
import shutil
import subprocess

MPIRUN = pathlib.Path(__file__).resolve().parents[2] / "mpirun.sh"
TREE = "out/Strata/results/small/bert"

MODEL = """{"vocab_size": 32, "hidden_size": 64, "num_hidden_layers": 2,
  "num_attention_heads": 2, "intermediate_size": 64, "max_position_embeddings": 48,
  "type_vocab_size": 2, "hidden_act": "gelu"}"""

RUN = """
run: {{system: small, output: {out}/out, seed: 1}}
model: {{config: model.json, vocab: vocab.txt, precision: fp32}}
device: {{threads: 2}}
data: {{train: data/train.hdf5, eval: data/eval.hdf5}}
batch: {{micro_batch: 4, load_balance: {{strata: [16, 32, 48]}}}}
optimizer: {{lr: 1e-2}}
lr_schedule: {{warmup_steps: 1, training_steps: 40}}
initialization: {{clear_whole_cache: false}}
target: {{masked_lm_accuracy: 0.01, eval_interval_samples: 32, max_steps: 16}}
log: {{step_trace: true, timeline_steps: 2, save_checkpoint: true}}
"""


@dataclasses.dataclass(frozen=True)
class Command:
    """`arguments` may name the folders {inputs} and {out}; a run writes below {out} alone."""

    name: str
    arguments: str
    start: str = ""  # a folder of the inputs; {out} begins as its copy
    ranks: int = 1
    failing_rank: int = 0
    exit_code: int = 0  # exit code without a fault
    checks_folders: bool = False  # a folder that cannot be listed fails its check: exit code 1
    of_parts: bool = False  # its output may cover only the readable inputs; the message names the rest

    def words(self, strata, inputs, out):
        words = [strata] + [
            word.format(inputs=inputs, out=out) for word in self.arguments.split()
        ]
        return [str(MPIRUN), "-n", str(self.ranks)] + words if self.ranks > 1 else words


TRAIN = "train --config {inputs}/run.yaml"
PREPARE = (
    "data prepare --text {inputs}/text.txt --vocab {inputs}/vocab.txt --out {out}/data"
    " --max-length 48 --max-predictions 8 --eval-every 10 --dupe-factor 3 --threads 2 --force"
)
PACKAGE = "{inputs}/trained/Strata"

COMMANDS = [
    Command("train", TRAIN),
    Command("train-continue", TRAIN + " --continue --experiments 2", start="interrupted"),
    Command("train-dry-run", TRAIN + " --dry-run"),
    Command("train-ranks-0", TRAIN, ranks=2, failing_rank=0),
    Command("train-ranks-1", TRAIN, ranks=2, failing_rank=1),
    Command("eval", "eval --config {inputs}/run.yaml --checkpoint {inputs}/weights.safetensors"),
    Command("data-prepare", PREPARE),
    Command("data-prepare-over", PREPARE + " --seed 7", start="prepared"),
    Command("data-mlperf", "data mlperf --text {inputs}/parts --vocab {inputs}/vocab.txt"
            " --out {out}/data --incomplete --threads 2"),
    Command("data-convert", "data convert {inputs}/data/train.hdf5 --out {out}/fixed.hdf5"
            " --format mlperf-fixed --vocab-size 32"),
    Command("data-index", "data index {out}/data/train.hdf5", start="unindexed"),
    Command("data-shapes", "data shapes {inputs}/data/train.hdf5"),
    Command("data-compare", "data compare {inputs}/data/train.hdf5 {inputs}/data/train.hdf5"),
    Command("data-info", "data info {inputs}/data/train.hdf5"),
    Command("data-show", "data show {inputs}/data/eval.hdf5 0 --vocab {inputs}/vocab.txt"),
    Command("check-log", "check log " + PACKAGE),
    Command("check-package", "check package " + PACKAGE),
    Command("check-round", "check round {inputs}/trained"),
    Command("check-rcp", "check rcp " + PACKAGE, exit_code=1),
    Command("check-seeds", "check seeds " + PACKAGE),
    Command("check-system", "check system --ruleset 5.0.0 " + PACKAGE + "/systems/small.json"),
    Command("check-repo", "check repo " + PACKAGE, checks_folders=True),
    Command("score", "score " + PACKAGE + " --csv {out}/scores.csv --json --output {out}/scores.json",
            of_parts=True),
    Command("score-summary", "score " + PACKAGE + " --summary {out}/summary.csv --detailed",
            of_parts=True),
    Command("score-workbook", "score " + PACKAGE + " --summary {out}/summary.xlsx", of_parts=True),
    Command("score-private-ids", "score {out}/Strata --summary {out}/summary.json --private-ids",
            start="trained", of_parts=True),
    Command("check-write-scaling", "check rcp {out}/Strata --write-scaling"
            " --custom-rcps {inputs}/points.json --log-output {out}/check.log", start="trained"),
    Command("package-merge", "package merge " + PACKAGE + " --output {out}/round"),
    Command("package-preview", "package preview " + PACKAGE, of_parts=True),
    Command("package-resubmit-check", "package resubmit-check " + PACKAGE + " " + PACKAGE),
    Command("plot-rcp", "plot rcp --rcp built-in -o {out}/rcp.svg"),
    Command("plot-curves", "plot curves " + PACKAGE + " -o {out}/curves.svg --json", of_parts=True),
    Command("plot-picture", "plot curves " + PACKAGE + " -o {out}/curves.svg", of_parts=True),
    Command("plot-scores", "plot scores " + PACKAGE + " -o {out}/scores.svg", of_parts=True),
]


def some_text():
    """Every other word is the same one, so that guessing it is soon learnt."""
    documents = []
    for document in range(40):
        sentences = []
        for sentence in range(6):
            words = range(4 + (document + sentence) % 5)
            letters = [chr(ord("a") + (document * 7 + word * 3) % 26) for word in words]
            sentences.append(" ".join("and " + letter for letter in letters))
        documents.append("\n".join(sentences) + "\n")
    return "\n".join(documents)


def points_above(results):
    """Reference points that these runs are a little faster than, so that the check asks for a factor."""
    samples, batch_size = [], 0
    for log in results.glob("result_*.txt"):
        text = log.read_text()
        batch_size = int(re.search(r'"global_batch_size", "value": (\d+)', text).group(1))
        samples.append(float(re.findall(r'"eval_accuracy".*?"epoch_num": ([\d.]+)', text)[-1]))
    mean = 1.02 * sum(samples) / len(samples)
    runs = [mean * share for share in (0.5, 0.8, 1.0, 1.2, 1.5)]
    return {"one": {"Benchmark": "bert", "BS": batch_size, "Epochs to converge": runs}}


def make_inputs(strata, inputs, out):
    """Fills the folder `inputs`; `out` is where the commands will write."""
    inputs.mkdir()
    text = some_text()
    (inputs / "text.txt").write_text(text)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "and"]
    vocabulary += [chr(letter) for letter in range(ord("a"), ord("z") + 1)]
    (inputs / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    (inputs / "model.json").write_text(MODEL)
    (inputs / "run.yaml").write_text(RUN.format(out=out))
    (inputs / "parts").mkdir()
    for part in ["part-00000-of-00500", "part-00001-of-00500", "eval.txt"]:
        (inputs / "parts" / part).write_text(text)

    def run(arguments):
        words = Command("input", arguments).words(strata, inputs, out)
        subprocess.run(words, check=True, capture_output=True, text=True)

    run(PREPARE.replace("{out}", "{inputs}"))
    shutil.copytree(inputs / "data", inputs / "prepared/data")
    shutil.copytree(inputs / "data", inputs / "unindexed/data")
    (inputs / "unindexed/data/train.hdf5.index").unlink()
    run(TRAIN + " --experiments 10 --set run.output={inputs}/trained")
    results = inputs / "trained/Strata/results/small/bert"
    shutil.copy(results / "result_0.safetensors", inputs / "weights.safetensors")
    (inputs / "points.json").write_text(json.dumps(points_above(results)))
    # A run that was killed before its first evaluation.
    run(TRAIN + " --set run.output={inputs}/interrupted/out")
    log = inputs / "interrupted" / TREE / "result_0.txt"
    lines = log.read_text().splitlines(keepends=True)
    kept = next(i for i, line in enumerate(lines) if '"eval_start"' in line)
    log.write_text("".join(lines[:kept]))
