"""A private PostgreSQL server and servers of Workgraph, for campaigns that take long. Python 3 alone."""
import glob
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

BINARY = os.environ.get("WORKGRAPH_BIN", "target/debug/workgraph")


def programs():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[-2]))
    if not found:
        raise SystemExit("SKIPPED: THERE IS NO POSTGRESQL SERVER IN /usr/lib/postgresql")
    return pathlib.Path(found[-1])


class Postgres:
    """A server on a socket in a scratch folder."""

    def __init__(self, root, settings, name="pg"):
        self.folder, self.settings, self.server = root / name, settings, None
        self.socket = root / "socket"
        self.socket.mkdir(exist_ok=True)
        if os.getuid() == 0:
            shutil.chown(root, "postgres")
            shutil.chown(self.socket, "postgres")

    def run(self, program, *arguments, **more):
        as_user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        command = as_user + [str(programs() / program), *map(str, arguments)]
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd="/", **more).stdout.strip()

    def make(self):
        self.run("initdb", "-D", self.folder, "-A", "trust", "-E", "UTF8", "--locale=C")
        with open(self.folder / "postgresql.conf", "a") as conf:
            conf.write("\n".join([f"unix_socket_directories = '{self.socket}'", "listen_addresses = ''", *self.settings, ""]))

    def start(self):
        self.run("pg_ctl", "-D", self.folder, "-w", "-t", "120", "-l", self.folder / "log", "start")
        if self.end not in Scratch.running:
            Scratch.running.append(self.end)

    def end(self):
        if (self.folder / "postmaster.pid").exists():
            self.stop("immediate")

    def stop(self, mode="fast"):
        self.run("pg_ctl", "-D", self.folder, "-w", "-m", mode, "stop")

    def sql(self, text, database="postgres"):
        return self.run("psql", "-h", self.socket, "-U", "postgres", "-d", database, "-Atqc", text)

    def url(self, database):
        return f"postgres://postgres@localhost/{database}?host={self.socket}"


class Scratch:
    """A folder that is removed at the end, with what runs in it."""

    running = []

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="workgraph-campaign-"))
        os.chmod(self.path, 0o755)
        return self.path

    def __exit__(self, *_):
        for end in self.running:
            end()
        shutil.rmtree(self.path, ignore_errors=True)


def environment(more):
    plain = {name: value for name, value in os.environ.items() if not name.startswith("WORKGRAPH_")}
    return {**plain, **more}


def command(*arguments, **more):
    """Runs a command of the binary; its settings come by the environment."""
    done = subprocess.run([BINARY, *map(str, arguments)], env=environment(more), capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{arguments}: {done.stdout} {done.stderr}")
    return done.stdout


WIDE = ["limits.standard_paid=100000000", "limits.standard_free=100000000", "limits.cost=off",
        "limits.concurrent_reads=1000", "limits.concurrent_writes=1000", "inspector.bytes=0"]


class Server:
    """A server of Workgraph with the demo's users; `limits` are those of the product, or none. One without `demo`, which keeps no
    requests to look at, finds the users there."""

    def __init__(self, folder, demo=True, limits=False, **settings):
        self.folder = folder
        port_file = folder.parent / f"{folder.name}.port"
        port_file.unlink(missing_ok=True)
        wide = [] if limits else [part for setting in WIDE for part in ("--set", setting)]
        self.log = open(folder.parent / f"{folder.name}.log", "a")
        arguments = [BINARY, "serve", *(["--demo"] if demo else []), "--quiet", "--listen", "127.0.0.1:0", "--data", str(folder),
                     "--port-file", str(port_file), *wide]
        self.process = subprocess.Popen(arguments, env=environment(settings), stdout=self.log, stderr=self.log)
        Scratch.running.append(self.kill)
        for _ in range(1200):
            if port_file.exists() and port_file.read_text().strip():
                break
            if self.process.poll() is not None:
                raise SystemExit(f"the server ended: {open(self.log.name).read()}")
            time.sleep(0.05)
        self.port = int(port_file.read_text())
        self.demo = json.loads((folder / "bootstrap.json").read_text())
        self.token = self.demo["personal_access_token"]
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def ask(self, method, path, body=None, headers=None, raw=None):
        sent = raw if raw is not None else (json.dumps({"data": body}) if body is not None else None)
        given = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **(headers or {})}
        self.connection.request(method, f"/api/1.0{path}", sent, given)
        reply = self.connection.getresponse()
        text = reply.read()
        if reply.status >= 300:
            raise SystemExit(f"{method} {path}: {reply.status} {text[:500]}")
        return json.loads(text)["data"]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(120) != 0:
            raise SystemExit(f"the server did not end well: {open(self.log.name).read()}")

    def kill(self):
        self.process.kill()
        self.process.wait()
