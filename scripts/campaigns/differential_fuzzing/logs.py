"""Logs as lists of lines, and the logs that mutation starts from: published ones, and ones made from the rules.

Text is Latin-1 throughout, as the official checker reads it. A line holds its line end.
"""

import collections
import json
import os
import random
import re
import tarfile
import tempfile

import official

TOKEN = ":::MLLOG "
OLD_TOKEN = ":::MLL "  # format of round 0.6: ':::MLL seconds key: {"value": ..., "metadata": ...}'

Seed = collections.namedtuple("Seed", "name usage ruleset lines")

PROTOCOL_BEFORE = ["cache_clear", "init_start", "submission_division", "submission_benchmark"]
PROTOCOL_AFTER = [
    "init_stop",
    "run_start",
    "block_start",
    "epoch_start",
    "eval_start",
    "eval_accuracy",
    "eval_stop",
    "epoch_stop",
    "block_stop",
    "run_stop",
]
USUAL_VALUES = ["0.9", "0", "100", "100000", '{"BBOX": 0.5, "SEGM": 0.5}', '{"FID": 50, "CLIP": 0.5}', "true", '"text"']
EVENTS_KEPT = 2  # events of a key at either end of a published log


def line_of(key, value, metadata, time_ms):
    """A line from JSON texts."""
    return (
        f'{TOKEN}{{"namespace": "", "time_ms": {time_ms}, "event_type": "POINT_IN_TIME", "key": {json.dumps(key)}, '
        f'"value": {value}, "metadata": {metadata}}}\n'
    )


def to_old_form(line):
    """A line in the form of round 0.6, or as it is where it holds no event."""
    try:
        event = json.loads(line.split(TOKEN)[-1])
        fields = json.dumps({"value": event["value"], "metadata": event["metadata"]})
        old = f'{OLD_TOKEN}{float(event["time_ms"]) / 1000:.3f} {event["key"]}: {fields}\n'
        old.encode("latin-1")
        return old
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return line


def shorten(lines):
    """The lines with events, of keys with many only the first and last few."""
    lines = [line for line in lines if TOKEN in line]
    found = [re.search(r'"key": *"([^"]*)"', line) for line in lines]
    keys = [match.group(1) if match else "" for match in found]
    places = collections.defaultdict(list)
    for place, key in enumerate(keys):
        places[key].append(place)
    kept = set()
    for key, of_key in places.items():
        many = len(of_key) > 2 * EVENTS_KEPT and key != "weights_initialization"  # rules need the full list of these
        kept.update(of_key[:EVENTS_KEPT] + of_key[-EVENTS_KEPT:] if many else of_key)
    return [line for place, line in enumerate(lines) if place in kept]


def verdict_of_lines(lines, usage, ruleset):
    if ruleset == "0.6.0":
        lines = [to_old_form(line) for line in lines]
    with tempfile.NamedTemporaryFile("w", encoding="latin-1", newline="") as file:
        file.write("".join(lines))
        file.flush()
        return official.check(file.name, usage, ruleset)


def published_seeds(folder, rounds, a_group):
    """Shortened logs of the published rounds: of each system and benchmark `a_group`, passing where there are such."""
    seeds = []
    for round_name in rounds:
        ruleset = round_name.removeprefix("v") + ".0"
        groups = collections.Counter()
        with tarfile.open(os.path.join(folder, f"{round_name}.tar.xz")) as archive:
            for member in archive:
                group, name = os.path.split(member.name)
                if not name.startswith("result_") or groups[group] >= a_group:
                    continue
                text = archive.extractfile(member).read().decode("latin-1")
                lines = shorten(text.splitlines(keepends=True))
                if verdict_of_lines(lines, "training", ruleset).passed:
                    groups[group] += 1
                    seeds.append(Seed(member.name, "training", ruleset, lines))
    return seeds


def published_groups(folder, rounds, groups_a_benchmark):
    """Result folders of the published rounds, each as {"round", "system", "benchmark", "description", "logs"}: the first
    ones of each benchmark, with shortened logs and the system's description."""
    found = []
    for round_name in rounds:
        groups, descriptions = collections.defaultdict(dict), {}
        with tarfile.open(os.path.join(folder, f"{round_name}.tar.xz")) as archive:
            for member in archive:
                path, name = os.path.split(member.name)
                if name.endswith(".json") and os.path.basename(path) == "systems":
                    descriptions[os.path.dirname(path), name.removesuffix(".json")] = archive.extractfile(member).read()
                if not name.startswith("result_"):
                    continue
                benchmark = os.path.basename(path)
                others = [other for other in groups if os.path.basename(other) == benchmark and other != path]
                if len(others) < groups_a_benchmark:
                    text = archive.extractfile(member).read().decode("latin-1")
                    groups[path][name] = shorten(text.splitlines(keepends=True))
        for path, texts in groups.items():
            submitter, system, benchmark = re.fullmatch(r"(.*)/results/([^/]*)/([^/]*)", path).groups()
            if (submitter, system) in descriptions:
                found.append(
                    {
                        "round": round_name,
                        "system": system,
                        "benchmark": benchmark,
                        "logs": texts,
                        "description": descriptions[submitter, system].decode(),
                    }
                )
    return found


def metadata_names(usage, ruleset):
    text = json.dumps([record for _, record in official.rule_records(usage, ruleset)])
    return sorted(set(re.findall(r"'(\w+)' in v\['metadata'\]|\['metadata'\]\['(\w+)'\]", text)))


def literals(code):
    """The numbers and texts in a rule's code, as JSON texts."""
    texts = [json.dumps(text) for text in re.findall(r"'([^']*)'", code)]
    numbers = re.findall(r"(?<![\w'.])\d[\d_]*\.?\d*(?:e[+-]?\d+)?", code)
    return texts + [
        json.dumps(float(number)) if re.search(r"[.e]", number) else json.dumps(int(number))
        for number in (number.replace("_", "") for number in numbers)
    ]


def made_log(keys, values, metadata):
    before = [key for key in PROTOCOL_BEFORE if key in keys]
    after = [key for key in PROTOCOL_AFTER if key in keys]
    between = [key for key in keys if key not in before and key not in after]
    ordered = before + between + after
    return [
        line_of(key, values.get(key, "1"), metadata, 1_700_000_000_000 + 1000 * place)
        for place, key in enumerate(ordered)
    ]


def made_seed(usage, ruleset, division, benchmark):
    """A log made from the rules of a round: every key that they name, with the values of their checks that leave the
    fewest errors. Not all of them pass."""
    wanted = {"common.yaml", f"{division}_common.yaml", f"{division}_{benchmark}.yaml", f"{benchmark}.yaml"}
    candidates = {}
    for name, record in official.rule_records(usage, ruleset):
        if any(name == file or name.startswith(file.removesuffix(".yaml") + "_") for file in wanted):
            code = json.dumps([record.get("CHECK", ""), record.get("ATLEAST_ONE_CHECK", "")]).replace('\\"', '"')
            candidates.setdefault(record["NAME"], []).extend(literals(code))
    values = {"submission_division": json.dumps(division), "submission_benchmark": json.dumps(benchmark)}
    names = [name for pair in metadata_names(usage, ruleset) for name in pair if name]
    metadata = json.dumps({**{name: 1 for name in names}, "status": "success"})
    keys = list(candidates)

    def errors_of(keys, values):
        lines = made_log(keys, values, metadata)
        verdict = verdict_of_lines(lines, usage, ruleset)
        return (verdict.crash is not None, len(verdict.keyed) + verdict.loose), lines

    fewest, lines = errors_of(keys, values)
    for key in keys:
        if fewest == (False, 0):
            break
        tried = [("drop", None)] + [("set", value) for value in dict.fromkeys(candidates[key] + USUAL_VALUES)][:16]
        for action, value in tried if key not in values else []:
            new_keys = [other for other in keys if other != key] if action == "drop" else keys
            new_values = values if action == "drop" else {**values, key: value}
            errors, new_lines = errors_of(new_keys, new_values)
            if errors < fewest:
                fewest, lines, keys, values = errors, new_lines, new_keys, new_values
    return Seed(f"made/{usage}_{ruleset}/{division}_{benchmark}", usage, ruleset, lines)


def made_seeds(usage, ruleset):
    """Made logs of every division and benchmark of a round."""
    names = os.listdir(os.path.join(official.RULES, f"{usage}_{ruleset}"))
    seeds = []
    for name in sorted(names):
        match = re.fullmatch(r"(?:(closed|open)_)?(\w+)\.yaml", name)
        division, benchmark = match.groups()
        if benchmark != "common":
            seeds.append(made_seed(usage, ruleset, division or "closed", benchmark))
    return seeds


class Seeds:
    """The seeds of each round; those made from rules are made when a round is first asked for."""

    def __init__(self, folder, rounds, a_group):
        self.published = published_seeds(folder, rounds, a_group) if folder else []
        self.made = {}

    def of(self, usage, ruleset):
        if (usage, ruleset) not in self.made:
            self.made[usage, ruleset] = made_seeds(usage, ruleset)
        return self.made[usage, ruleset]

    def draw(self, usage, ruleset, rng: random.Random, only_bert):
        """A seed for a round: one of its own published logs, one made from its rules, or one of another round."""
        fits = [seed for seed in self.published if not only_bert or "/bert/" in seed.name]
        own = [seed for seed in fits if seed.ruleset == ruleset]
        made = [seed for seed in self.of(usage, ruleset) if not only_bert or seed.name.endswith("_bert")]
        choices = [pool for pool in (own, own, made, fits if usage == "training" else made) if pool]
        pool = rng.choice(choices)
        return rng.choices(pool, [1 / len(seed.lines) for seed in pool])[0]  # prefers short logs, so that each gives as many lines
