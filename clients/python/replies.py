"""The replies of the transcripts and the examples of the OpenAPI document, checked against the document by a validator of JSON
Schema. Prints the number of replies; fails with those that the document does not allow."""

import json
import pathlib
import re
import sys

import jsonschema_rs

ADDRESS = "json-schema:///document"
DOCUMENT, TRANSCRIPTS = map(pathlib.Path, sys.argv[1:])
MIN_REPLIES = 500


def exchanges(file):
    """Yields place, method, path, status and body of each exchange whose reply is JSON."""
    place = request = status = None
    body = ""
    for number, line in enumerate([*file.read_text().splitlines(), "> "], 1):
        if line.startswith("> "):
            if request and status:
                try:
                    yield place, request[1], request[2].partition("?")[0], status, json.loads(body)
                except ValueError:
                    pass
            place, request, status, body = f"{file.name}:{number}", line[2:].split(" "), None, ""
            request = request if len(request) > 2 else None
        elif line.startswith("< "):
            status = status or line[2:]
        elif status and not line.startswith(("<", "#", "=")):
            body += line


def examples(document):
    """Yields the examples of the document as exchanges."""
    for path, item in document["paths"].items():
        for method, described in item.items():
            for status, response in described["responses"].items():
                content = response.get("content", {}).get("application/json", {})
                if "example" in content:
                    yield "example", method.upper(), re.sub(r"\{\w+\}", "1", path), status, content["example"]


def addressed(schema):
    """Returns a schema whose references lead into the document."""
    if isinstance(schema, dict):
        return {k: ADDRESS + v if k == "$ref" else addressed(v) for k, v in schema.items()}
    return [addressed(item) for item in schema] if isinstance(schema, list) else schema


def at(document, reference):
    for step in reference.removeprefix("#/").split("/"):
        document = document[step.replace("~1", "/").replace("~0", "~")]
    return document


def routes(document):
    """Returns a function that finds the operation of a method and path; words of a path come before its parameters."""
    known = []
    for path, item in document["paths"].items():
        pattern = re.compile(re.sub(r"\{\w+\}", "[^/]+", path) + "/?")
        known += [(path.count("{"), method.upper(), pattern, described) for method, described in item.items()]
    known.sort(key=lambda route: route[0])
    return lambda method, path: next(
        (described for _, m, pattern, described in known if m == method and pattern.fullmatch(path)), None
    )


def check(document):
    """Returns the number of replies, and those that the document does not allow."""
    find = routes(document)
    registry = jsonschema_rs.Registry([(ADDRESS, document)])
    validators, checked, faults = {}, 0, set()
    recorded = (exchange for file in sorted(TRANSCRIPTS.iterdir()) for exchange in exchanges(file))
    for place, method, path, status, body in [*recorded, *examples(document)]:
        operation = find(method, path)
        if operation is None:
            continue
        checked += 1
        name = operation["operationId"]
        response = operation["responses"].get(status)
        if response is None:
            faults.add(f"{name}: no status {status}")
            continue
        if "$ref" in response:
            response = at(document, response["$ref"])
        schema = addressed(response["content"]["application/json"]["schema"])
        key = json.dumps(schema)
        if key not in validators:
            validators[key] = jsonschema_rs.validator_for(schema, registry=registry)
        for fault in validators[key].iter_errors(body):
            faults.add(f"{place} {name} {'/'.join(map(str, fault.instance_path))}: {fault.message[:200]}")
    return checked, faults


document = json.loads(DOCUMENT.read_text())
checked, faults = check(document)
assert not faults, f"{checked} replies\n" + "\n".join(sorted(faults))
assert checked > MIN_REPLIES, checked
# The same check finds a document that is wrong.
document["components"]["schemas"]["Task"]["properties"]["completed"] = {"type": "string"}
assert check(document)[1], "a document with another type was not found out"
print(f"{checked} replies are as the document says, and another document is found out: 2 steps passed")
