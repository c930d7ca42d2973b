#!/usr/bin/env python3
"""Prints the errors of a JSON file under a schema: json_schema.py SCHEMA FILE"""

import json
import sys

from jsonschema import Draft202012Validator

schema, found = (json.load(open(path)) for path in sys.argv[1:])
Draft202012Validator.check_schema(schema)
errors = list(Draft202012Validator(schema).iter_errors(found))
for error in errors[:10]:
    print(f"{'/'.join(map(str, error.absolute_path))}: {error.message[:500]}")
sys.exit(1 if errors else 0)
