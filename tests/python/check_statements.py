"""Reads every statement of a folder as in-toto's own package reads it: check_statements.py FOLDER."""

import json
import pathlib
import sys

import in_toto_attestation.predicates.provenance.v1.provenance_pb2 as provenance
import in_toto_attestation.v1.statement_pb2 as statements
from google.protobuf import json_format
from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
from in_toto_attestation.v1.statement import Statement

count = 0
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
    document = json.loads(path.read_text("utf8"))
    # Fields that the schema does not have are refused.
    Statement.copy_from_pb(json_format.ParseDict(document, statements.Statement())).validate()
    predicate = json_format.ParseDict(document["predicate"], provenance.Provenance())
    definition, details = predicate.build_definition, predicate.run_details
    assert definition.build_type and details.builder.id, path
    assert document["predicateType"] == "https://slsa.dev/provenance/v1", path
    assert details.metadata.started_on.seconds <= details.metadata.finished_on.seconds, path
    for resource in [*definition.resolved_dependencies, *details.byproducts]:
        ResourceDescriptor.copy_from_pb(resource).validate()
    count += 1
print(count, "statements")
sys.exit(0 if count else 1)
