"""Validates a JSON document against a JSON schema: check_document.py SCHEMA DOCUMENT."""

import json
import pathlib
import sys

import jsonschema

schema, document = (json.loads(pathlib.Path(path).read_text("utf8")) for path in sys.argv[1:3])
validator = jsonschema.Draft202012Validator
validator.check_schema(schema)
errors = [f"{error.json_path}: {error.message}" for error in validator(schema).iter_errors(document)]
print("\n".join(errors))
sys.exit(1 if errors else 0)
