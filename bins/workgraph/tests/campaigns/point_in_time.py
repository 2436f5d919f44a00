"""PostgreSQL's own recovery to a point in time, with the commands of docs/BACKUPS.md: the digest is that of the time."""
import os
import shutil
import time
from servers import Postgres, Scratch, Server, command, json


def digest(url, node, files):
    found = command("digest", "--json", "--data", node, WORKGRAPH_STORE_URL=url, WORKGRAPH_STORE_SHARED_FILES=str(files))
    return json.loads(found)["digest"]


with Scratch() as root:
    archive, base, node, files = root / "archive", root / "base", root / "node", root / "files"
    files.mkdir()
    archiving = ["archive_mode = on", f"archive_command = 'test ! -f {archive}/%f && cp %p {archive}/%f'", "archive_timeout = 1s"]
    postgres = Postgres(root, archiving)
    archive.mkdir()
    if os.getuid() == 0:
        shutil.chown(archive, "postgres")
    postgres.make()
    postgres.start()
    postgres.sql("CREATE DATABASE workgraph")
    url = postgres.url("workgraph")
    settings = {"WORKGRAPH_STORE_URL": url, "WORKGRAPH_STORE_SHARED_FILES": str(files)}
    server = Server(node, **settings)
    workspace = server.demo["workspaces"][0]["gid"]

    def tasks(server, name, count):
        for number in range(count):
            task = server.ask("POST", "/tasks", {"name": f"{name} {number}", "workspace": workspace})
            server.ask("PUT", f"/tasks/{task['gid']}", {"completed": True})

    tasks(server, "before the full copy", 50)
    postgres.run("pg_basebackup", "-h", postgres.socket, "-U", "postgres", f"--pgdata={base}", "--checkpoint=fast", "--wal-method=none")
    tasks(server, "before the time", 100)
    while True:
        expected = digest(url, node, files)
        at = postgres.sql("SELECT now()")
        if digest(url, node, files) == expected:
            break
    time.sleep(1.5)
    tasks(server, "after the time", 100)
    assert digest(url, node, files) != expected
    last = postgres.sql("SELECT pg_walfile_name(pg_switch_wal())")
    for _ in range(600):
        if (archive / last).exists():
            break
        time.sleep(0.1)
    server.kill()
    postgres.stop("immediate")
    shutil.rmtree(postgres.folder)  # the disk is lost

    recovered = Postgres(root, [], "recovered")
    shutil.copytree(base, recovered.folder, copy_function=shutil.copy2)
    with open(recovered.folder / "postgresql.auto.conf", "a") as conf:
        conf.write(f"restore_command = 'cp {archive}/%f %p'\nrecovery_target_time = '{at}'\nrecovery_target_action = 'promote'\n")
    (recovered.folder / "recovery.signal").touch()
    if os.getuid() == 0:
        for path in [recovered.folder, *recovered.folder.rglob("*")]:
            shutil.chown(path, "postgres", "postgres")
    recovered.folder.chmod(0o700)
    began = time.monotonic()
    recovered.start()
    while recovered.sql("SELECT pg_is_in_recovery()") != "f":
        time.sleep(0.1)
    took = time.monotonic() - began
    found = digest(url, node, files)
    assert found == expected, f"{found} is not {expected}"
    print(command("check", "--data", node, **settings).strip())
    server = Server(node, **settings)
    tasks(server, "after the recovery", 10)
    server.stop()
    recovered.stop()
    print(f"recovered to {at} in {took:.1f} s; the digest is that of the time: {expected}")
