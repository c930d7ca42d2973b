#!/usr/bin/env python3
"""Prints a file's violations of SARIF 2.1.0 and of GitHub's code scanning rules: sarif_check.py FILE

If SARIF_SCHEMA names the standard's JSON schema, the file is checked against that, too."""

import json
import os
import re
import sys
from urllib.parse import urlsplit

document = json.loads(open(sys.argv[1], "rb").read().decode("utf-8"))
problems = []


def need(condition, what):
    if not condition:
        problems.append(what)


need(document.get("version") == "2.1.0", "version")
need(isinstance(document.get("runs"), list) and len(document["runs"]) == 1, "runs")
for run in document["runs"]:
    driver = run["tool"]["driver"]
    need(isinstance(driver.get("name"), str) and driver["name"], "tool.driver.name")
    need(set(run) <= {"tool", "results", "columnKind"}, f"unknown keys of run: {set(run)}")
    ids = [rule["id"] for rule in driver["rules"]]
    need(len(ids) == len(set(ids)), "two rules with one id")
    for rule in driver["rules"]:
        need(isinstance(rule["shortDescription"]["text"], str), "shortDescription.text")
    for result in run["results"]:
        need(ids[result["ruleIndex"]] == result["ruleId"], "ruleIndex leads to another rule")
        need(result["level"] in ("none", "note", "warning", "error"), "level")
        need(isinstance(result["message"]["text"], str) and result["message"]["text"], "message.text")
        need(all(isinstance(v, str) for v in result["partialFingerprints"].values()), "fingerprints")
        need(len(result["locations"]) == 1, "locations")
        for location in result["locations"]:
            physical = location["physicalLocation"]
            artifact = physical["artifactLocation"]
            uri = artifact["uri"]
            need(re.fullmatch(r"(?:[A-Za-z0-9\-._~/:]|%[0-9A-F]{2})+", uri), f"{uri} is no URI reference")
            if urlsplit(uri).scheme:
                need(urlsplit(uri).scheme == "file" and "uriBaseId" not in artifact, f"{uri}")
            else:
                need(":" not in uri.split("/")[0], f"{uri}")
            if "region" in physical:
                line = physical["region"]["startLine"]
                need(isinstance(line, int) and line >= 1, f"startLine {line}")
if os.environ.get("SARIF_SCHEMA"):
    from jsonschema import validators

    schema = json.load(open(os.environ["SARIF_SCHEMA"]))
    for error in validators.validator_for(schema)(schema).iter_errors(document):
        problems.append(f"schema: {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}")
print("\n".join(problems[:20]))
sys.exit(1 if problems else 0)
