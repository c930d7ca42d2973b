"""The official compliance checker in process, as it is but for what it reads and compiles again for every log.

Cached are the parsed rule files and the compiled code of their rules, and its search for the last token of a line, which
is quadratic in the line, is done in linear time (and compared with its own now and then). Its messages are not indented.
What it judges and how is untouched.
"""

import collections
import contextlib
import functools
import io
import json
import logging
import os
import random
import re
import sys

import yaml
from mlperf_logging.compliance_checker import mlp_compliance

PACKAGE = os.path.dirname(os.path.dirname(mlp_compliance.__file__))
RULES = os.path.join(PACKAGE, "compliance_checker")
MAX_RULE_FILES = 64  # rule files per log: Strata's limit, beyond which the official checker never ends

# keyed: the keys with an error; loose: the number of errors without a key; crash: the exception that ended the check.
Verdict = collections.namedtuple("Verdict", "passed keyed loose warnings crash")


class EndlessRules(Exception):
    """Rule files that enqueue each other without end."""


class CachedYaml:
    """Stands for the module `yaml` in the official checker."""

    BaseLoader = yaml.BaseLoader

    def __init__(self):
        self.parsed = {}
        self.loads = 0

    def load(self, file, Loader):
        self.loads += 1
        if self.loads > MAX_RULE_FILES:
            raise EndlessRules(file.name)
        if file.name not in self.parsed:
            self.parsed[file.name] = yaml.load(file, Loader=Loader)
        return self.parsed[file.name]


class LinearRe:
    """Stands for the module `re` in the official parsers, which substitute ".*" + TOKEN by TOKEN and nothing else."""

    compile, match, X = re.compile, re.match, re.X

    @staticmethod
    def sub(pattern, token, line):
        result = token + line.rpartition(token)[2]
        if random.random() < 0.001 and result != re.sub(pattern, token, line):
            raise AssertionError(f"not what the official pattern finds: {line!r}")
        return result


@functools.lru_cache(maxsize=None)
def compiled(code, mode):
    return compile(code, "<string>", mode)


cached_yaml = CachedYaml()
mlp_compliance.yaml = cached_yaml
mlp_compliance.eval = lambda code, *scopes: eval(compiled(code, "eval"), *scopes)
mlp_compliance.exec = lambda code, *scopes: exec(compiled(code, "exec"), *scopes)
mlp_compliance.preety_dict = lambda value: json.dumps(value, sort_keys=True)
for name, module in list(sys.modules.items()):
    if ".mlp_parser.ruleset_" in name:
        module.re = LinearRe
logging.disable(logging.CRITICAL)


def new_process():
    """Restores the state in which a new process would start."""
    mlp_compliance.enqueued_configs.clear()
    cached_yaml.loads = 0


def count_loose(messages):
    """The number of errors without a key, where an AT_LEAST_ONE_OR of the same keys counts once: the official checker
    takes the keys from a set, in an order that changes from process to process, so that it is one error or two."""
    start = "Required AT_LEAST_ONE occurrence of "
    alternatives = {frozenset(text.removeprefix(start).split(" or ")) for text in messages if text.startswith(start)}
    return len(alternatives) + sum(not text.startswith(start) for text in messages)


def check(path, usage, ruleset):
    """The verdict on one log."""
    new_process()
    checker = mlp_compliance.make_checker(usage, ruleset, False, False)
    crash = None
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # rules of round 0.6 print
            checker.check_file(path, f"{usage}_{ruleset}/common.yaml")
    except Exception as error:  # any error ends the official program
        crash = type(error).__name__
    return Verdict(
        passed=crash is None and not checker.has_messages(),
        keyed=frozenset(checker.overwritable),
        loose=count_loose(checker.not_overwritable),
        warnings=frozenset(checker.warnings),
        crash=crash,
    )


def rulesets():
    """All (usage, ruleset) that have rules for logs in the published form."""
    names = [name.split("_") for name in sorted(os.listdir(RULES)) if os.path.isdir(os.path.join(RULES, name))]
    return [tuple(name) for name in names if len(name) == 2 and name[0] in ("training", "hpc")]


@functools.lru_cache(maxsize=None)
def rule_records(usage, ruleset):
    """The KEY records of every rule file of a round, as (file, record)."""
    records = []
    folder = os.path.join(RULES, f"{usage}_{ruleset}")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name)) as file:
            try:
                parsed = yaml.load(file, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))
            except yaml.YAMLError:  # one file of round 0.7 is invalid
                continue
            records += [(name, record["KEY"]) for record in parsed or [] if "KEY" in record]
    return records
