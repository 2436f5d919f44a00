"""The tasks of a project of the running server: a demo on a free port, with a project of its own."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request

folder = pathlib.Path(tempfile.mkdtemp(prefix="workgraph-laws-"))
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
flags = ["--demo", "--set", "limits.standard_paid=1000000", "--listen", "127.0.0.1:0"]
command = [os.environ["WORKGRAPH"], "serve", "--data", folder / "data", "--port-file", folder / "port", *flags]
with open(folder / "log", "w") as log:
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
try:
    server.stdout.readline()  # its address, once it serves
    port = (folder / "port").read_text().strip()
    boot = json.loads((folder / "data/bootstrap.json").read_text())
    token, workspace = boot["personal_access_token"], boot["workspaces"][0]["gid"]

    def ask(path, body=None):
        data = None if body is None else json.dumps({"data": body}).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{port}/api/1.0/{path}", data, headers)
        return json.load(urllib.request.urlopen(request))["data"]

    team = ask(f"workspaces/{workspace}/teams")[0]["gid"]
    made = {"name": "Laws", "team": team, "workspace": workspace, "privacy_setting": "private"}
    project = ask("projects", made)["gid"]
    print(json.dumps({"PORT": port, "TOKEN": token, "PROJECT": project}), flush=True)
    server.wait()
finally:
    server.terminate()
    server.wait()
    shutil.rmtree(folder)
