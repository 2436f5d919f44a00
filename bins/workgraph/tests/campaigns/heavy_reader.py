"""One user reads the heaviest pages with 50 tokens at once, while somebody of another workspace lists tasks.

Prints how long those lists and `/-/livez` took, alone and beside the heavy reader, with the limits that servers have by
default and with none. Set WORKGRAPH_BIN to the binary; `heavy_reader.py [SECONDS] [TASKS]`.
"""
import http.client
import json
import sys
import threading
import time

from servers import Scratch, Server, command

TOKENS = 50
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
TASKS = int(sys.argv[2]) if len(sys.argv) > 2 else 4_000
FIELDS = "name,assignee.name,custom_fields.name,followers.name,memberships.project.name,memberships.section.name,num_subtasks"


def user(folder, workspace, name):
    """Returns the gid of a new member and a function that makes tokens of this user."""
    email = f"{name}@example.com"
    text = command("admin", "user", "create", "--json", "--data", folder, "--name", name, "--email", email, "--workspace", workspace)
    made = json.loads(text)

    def token():
        text = command("admin", "token", "create", "--json", "--data", folder, "--user", email)
        return json.loads(text)["token"]

    return made.get("gid"), token


def fill(server, workspace, tasks, token):
    """Makes a project with tasks, and returns its gid."""
    mine = {"Authorization": f"Bearer {token}"}
    team = server.ask("POST", "/teams", {"name": "Team", "organization": workspace}, mine)["gid"]
    project = server.ask("POST", "/projects", {"name": "Large", "team": team}, mine)["gid"]
    for first in range(0, tasks, 10):
        actions = [{"method": "post", "relative_path": "/tasks", "data": {"name": f"Task {first + offset} of many", "projects": [project]}}
                   for offset in range(10)]
        server.ask("POST", "/batch", {"actions": actions}, mine)
    return project


def ask(port, token, path):
    """Sends one request over a connection of its own, and returns the status and the seconds."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    began = time.monotonic()
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
    reply = connection.getresponse()
    reply.read()
    connection.close()
    return reply.status, time.monotonic() - began


def share(times, part):
    return sorted(times)[min(len(times) - 1, int(len(times) * part))] * 1000 if times else float("nan")


def measure(port, reader, list_path, seconds):
    lists, lives, until = [], [], time.monotonic() + seconds
    while time.monotonic() < until:
        for times, token, path in [(lists, reader, list_path), (lives, None, "/-/livez")]:
            status, took = ask(port, token, path)
            if status != 200:
                raise SystemExit(f"{path}: {status}")
            times.append(took)
        time.sleep(0.05)
    return lists, lives


def line(name, lists, lives):
    print(f"{name:34} list p50 {share(lists, .5):6.0f} ms, p99 {share(lists, .99):6.0f} ms, livez p99 {share(lives, .99):6.0f} ms"
          f" ({len(lists)} lists)", flush=True)


def main():
    worst = 0
    with Scratch() as root:
        server = Server(root / "data")
        workspaces = [json.loads(command("admin", "workspace", "create", "--json", "--data", server.folder, "--name", name))["gid"]
                      for name in ("Reader's", "Others'")]
        heavy, heavy_token = user(server.folder, workspaces[0], "heavy")
        tokens = [heavy_token() for _ in range(TOKENS)]
        _, other_token = user(server.folder, workspaces[1], "other")
        other = other_token()
        large = fill(server, workspaces[0], TASKS, tokens[0])
        small = fill(server, workspaces[1], 200, other)
        list_path = f"/api/1.0/tasks?project={small}&limit=100&opt_fields=name,assignee.name"
        heavy_paths = [f"/api/1.0/projects/{large}/task_counts?opt_fields=num_tasks,num_completed_tasks",
                       f"/api/1.0/tasks?project={large}&limit=100&opt_fields={FIELDS}",
                       f"/api/1.0/workspaces/{workspaces[0]}/typeahead?resource_type=task&query=Task%201&count=100",
                       f"/api/1.0/workspaces/{workspaces[0]}/tasks/search?text=many&sort_by=modified_at&limit=100&opt_fields={FIELDS}"]
        for limits in ("none", "as by default"):
            if limits != "none":
                server.stop()
                server = Server(root / "data", demo=False, limits=True)
            line(f"limits {limits}, alone", *measure(server.port, other, list_path, 5))
            for path in heavy_paths:
                stop, statuses = threading.Event(), {}

                def read(token, path=path):
                    while not stop.is_set():
                        status, _ = ask(server.port, token, path)
                        statuses[status] = statuses.get(status, 0) + 1
                        if status == 429:
                            time.sleep(0.2)

                threads = [threading.Thread(target=read, args=(token,), daemon=True) for token in tokens]
                for thread in threads:
                    thread.start()
                lists, lives = measure(server.port, other, list_path, SECONDS)
                stop.set()
                for thread in threads:
                    thread.join()
                name = path.split("?")[0].rsplit("/", 1)[-1]
                line(f"limits {limits}, {name}", lists, lives)
                print(f"    replies of the heavy reader by status: {dict(sorted(statuses.items()))}", flush=True)
                worst = max(worst, share(lists, .99))
    print(f"the worst p99 of the lists: {worst:.0f} ms")
    sys.exit(worst >= 1000)


if __name__ == "__main__":
    main()
