"""Moves a large data folder into PostgreSQL and back: tasks with history, and attachments. Equal digests; rows and time."""
import concurrent.futures
import pathlib
import sys
import time
from servers import Postgres, Scratch, Server, command, json

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
ATTACHMENTS = COUNT // 50
THREADS = 4


def chunks(numbers, size):
    for start in range(0, len(numbers), size):
        yield numbers[start:start + size]


def fill(folder, turn):
    """Makes a quarter of the tasks over a connection of its own; every fifth is changed, every fiftieth has a file."""
    server = Server.__new__(Server)
    server.__dict__.update(folder.__dict__)
    server.connection = type(folder.connection)("127.0.0.1", folder.port, timeout=120)
    workspace = server.demo["workspaces"][0]["gid"]
    made = []
    for some in chunks(range(turn, COUNT, THREADS), 10):
        actions = [{"method": "post", "relative_path": "/tasks",
                    "data": {"name": f"Task {number}", "notes": f"What is to be done in step {number}. " * 4, "workspace": workspace}}
                   for number in some]
        done = server.ask("POST", "/batch", {"actions": actions})
        if any("data" not in one["body"] for one in done):
            raise SystemExit(f"a task was not made: {done}")
        made.extend(one["body"]["data"]["gid"] for one in done)
    for some in chunks(made[::5], 10):
        actions = [{"method": "put", "relative_path": f"/tasks/{gid}", "data": {"completed": True, "name": "Done"}} for gid in some]
        server.ask("POST", "/batch", {"actions": actions})
    for gid in made[::50]:
        body = (f"--b\r\nContent-Disposition: form-data; name=\"parent\"\r\n\r\n{gid}\r\n--b\r\nContent-Disposition: form-data; "
                f"name=\"file\"; filename=\"{gid}.txt\"\r\nContent-Type: text/plain\r\n\r\n{gid * 500}\r\n--b--\r\n")
        server.ask("POST", "/attachments", raw=body.encode(), headers={"Content-Type": "multipart/form-data; boundary=b"})
    return len(made)


def timed(text, work):
    began = time.monotonic()
    answer = json.loads(work())
    took = time.monotonic() - began
    print(f"{text}: {answer['rows']} rows and {answer['files']['copied']} files in {took:.1f} s, {answer['rows'] / took:.0f} rows/s", flush=True)
    return answer


with Scratch() as root:
    data, back, files = root / "data", root / "back", root / "files"
    files.mkdir()
    began = time.monotonic()
    server = Server(data)
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        made = sum(pool.map(lambda turn: fill(server, turn), range(THREADS)))
    server.stop()
    print(f"{made} tasks in {time.monotonic() - began:.1f} s", flush=True)
    before = json.loads(command("digest", "--json", "--data", data))
    postgres = Postgres(root, ["fsync = off"])
    postgres.make()
    postgres.start()
    postgres.sql("CREATE DATABASE workgraph")
    settings = {"WORKGRAPH_STORE_URL": postgres.url("workgraph"), "WORKGRAPH_STORE_SHARED_FILES": str(files)}
    moving = ["move", "--unsafe-database", "--json", "--data", data]
    into = timed("into PostgreSQL", lambda: command(*moving, "--from", data, **settings))
    out = timed("back into SQLite", lambda: command(*moving, "--to", back, **settings))
    after = json.loads(command("digest", "--json", "--data", back))
    postgres.stop()
    assert into["digest"] == out["digest"] == before["digest"] == after["digest"]
    assert before["folders"] == after["folders"], "the files differ"
    assert into["files"]["copied"] >= ATTACHMENTS, into
    size = sum(path.stat().st_size for path in pathlib.Path(back).rglob("*") if path.is_file())
    print(command("check", "--data", back).strip())
    print(f"equal digests of {into['rows']} rows, {size >> 20} MiB in all")
