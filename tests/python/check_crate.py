"""Validates a research crate: check_crate.py CRATE SEVERITY. Prints what does not hold and exits with 1 then."""
import importlib.resources
import json
import sys

import requests
from rocrate.rocrate import ROCrate
from rocrate_validator import models, services
from rocrate_validator.utils.http import HttpRequester

CONTEXT = "https://w3id.org/ro/crate/1.1/context"


def context():
    """The context of RO-Crate, from the reader's own package, so that no network is asked."""
    text = importlib.resources.files("rocrate").joinpath("data/ro-crate.jsonld").read_text("utf8")
    document = json.loads(text)
    # The package holds the context of a later version; in 1.1 these terms had other names.
    document["@context"] |= {
        "ComputationalWorkflow": "https://bioschemas.org/ComputationalWorkflow",
        "FormalParameter": "https://bioschemas.org/FormalParameter",
    }
    return json.dumps(document).encode()


def get(_self, url, **_options):
    if url != CONTEXT:
        raise requests.ConnectionError(f"no network in this check: {url}")
    response = requests.Response()
    response.status_code, response.url = 200, url
    response.headers["Content-Type"] = "application/ld+json"
    response._content = context()
    return response


HttpRequester.get = get
HttpRequester.head = get
settings = services.ValidationSettings.parse({
    "rocrate_uri": sys.argv[1],
    "profile_identifier": "provenance-run-crate",
    "requirement_severity": sys.argv[2],
})
result = services.validate(settings)
for issue in result.get_issues():
    print(issue.severity.name, issue.check.identifier, issue.message, issue.violatingEntity)
crate = ROCrate(sys.argv[1])
print("read:", crate.name, "of", crate.mainEntity.id, "with", len(crate.data_entities), "parts")
sys.exit(1 if result.get_issues() else 0)
