"""The OpenAPI document, used by others: schemathesis sends requests made from it and checks the replies against it, and a
client that openapi-python-client generates from it lists, creates and updates a task. The argument says which of the two."""

import importlib
import os
import pathlib
import subprocess
import sys
import tempfile

BASE = os.environ["BASE_URL"]
TOKEN = os.environ["TOKEN"]
WORKSPACE = os.environ["WORKSPACE"]
DOCUMENT = BASE + "/openapi.json"
BIN = pathlib.Path(sys.executable).parent
EXAMPLES = os.environ.get("OPENAPI_EXAMPLES", "1")
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def run(folder, *command):
    done = subprocess.run([str(c) for c in command], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    return done.stdout


def schemathesis(folder):
    out = run(
        folder, BIN / "schemathesis", "run", DOCUMENT, "--header", f"Authorization: Bearer {TOKEN}",
        "--checks", CHECKS, "--phases", "fuzzing", "--max-examples", EXAMPLES,
        "--workers", "2", "--continue-on-failure", "--no-color", "--warnings", "off",
        "--generation-database", "none",
    )
    print(next(line.strip() for line in out.splitlines() if "generated" in line))


def generated_client(folder):
    run(
        folder, BIN / "openapi-python-client", "generate", "--url", DOCUMENT, "--meta", "none",
        "--output-path", folder / "generated",
    )
    sys.path.insert(0, str(folder))

    def call(tag, name, **inputs):
        module = importlib.import_module(f"generated.api.{tag}.{name}")
        reply = module.sync_detailed(client=client, **inputs)
        assert reply.status_code in (200, 201), (name, reply.status_code, reply.content)
        return reply.parsed.data

    def body(operation, **fields):
        models = importlib.import_module("generated.models")
        return getattr(models, operation + "Body").from_dict({"data": fields})

    client = importlib.import_module("generated").AuthenticatedClient(base_url=BASE, token=TOKEN)
    made = call("tasks", "create_task", body=body("CreateTask", name="Generated", workspace=WORKSPACE, assignee="me"))
    assert made.name == "Generated", made
    changed = call("tasks", "update_task", task_gid=made.gid, body=body("UpdateTask", completed=True))
    assert changed.completed is True, changed
    listed = call("tasks", "get_tasks", workspace=WORKSPACE, assignee="me", limit=100, opt_fields=["name", "completed"])
    assert any(task.gid == made.gid and task.completed for task in listed), listed


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        {"schemathesis": schemathesis, "generated-client": generated_client}[sys.argv[1]](folder)
    print("1 steps passed")


main()
