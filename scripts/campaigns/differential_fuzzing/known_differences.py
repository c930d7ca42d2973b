"""Where the two checkers differ on purpose: a name, the section of docs/compliance.md that explains it, and when."""

import re


def crashed_and_failed(log, theirs, ours):
    return theirs.crash is not None and not ours.passed


def nested_deeply(log, theirs, ours):
    """Strata's limit is 500, Python's its stack."""
    return any(bracket * 500 in log.text for bracket in ("[", '{"a":')) and not ours.passed


def names_another_benchmark(log, theirs, ours):
    """Strata's rules are for BERT. Another benchmark of the round is not judged; one that it has not fails in both."""
    named = re.findall(r'"key": "submission_benchmark", "value": ("?[^",]*"?)', log.text)
    return (
        log.rules == "Strata's rules"
        and any(value != '"bert"' for value in named)
        and not theirs.passed
        and not ours.passed
    )


def beyond_floats(log, theirs, ours):
    return re.search(r"\d{309}", log.text) is not None and not theirs.passed and not ours.passed


KNOWN = [
    ("arithmetic with an integer beyond the floats; both fail", "Rule files", beyond_floats),
    ("JSON nested more than 500 deep", "Logs", nested_deeply),
    ("Strata's BERT rules, another benchmark named; both fail", "Whose rules judge", names_another_benchmark),
    ("the official checker ends with an error; fails here", "Where the official tool looks wrong", crashed_and_failed),
]


def name_of(log, theirs, ours):
    """The known difference that this is, or None."""
    return next((name for name, _, is_it in KNOWN if is_it(log, theirs, ours)), None)
