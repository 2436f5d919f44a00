"""tap-asana (PyPI tap-asana 2.5.1, a Singer tap) as it is: everything, and then what changed since.

The tap knows no address but the public service's, and has no setting for another one. So each run of it goes through this
file, which says where the API is to the library under it, and where the token endpoint is to requests. Environment:
BASE_URL, TOKEN of a user, and of an app that they let in: CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, REFRESH_TOKEN.
"""
import json
import os
import subprocess
import sys
import tempfile

import requests

BASE = os.environ["BASE_URL"]
ELSEWHERE = "https://app.asana.com"
# Portfolios are not kept.
LEFT_OUT = {"portfolios"}
done = 0


def tap():
    """One run of the tap, with the arguments of this process."""
    import asana
    import tap_asana

    configuration = asana.Configuration()
    configuration.host = BASE
    # A run that is refused ends, instead of waiting.
    configuration.retry_strategy = False
    asana.Configuration.set_default(configuration)
    send = requests.Session.request

    def here(self, method, url, **kwargs):
        if url.startswith(ELSEWHERE):
            url = BASE[: BASE.index("/api/")] + url[len(ELSEWHERE):]
        return send(self, method, url, **kwargs)

    requests.Session.request = here
    tap_asana.main()


def step(words):
    """Says that everything up to here held."""
    global done
    done += 1
    print("ok %d %s" % (done, words), flush=True)


def check(holds, what):
    if not holds:
        raise AssertionError(what)


def api(method, path, data=None):
    """What the API answers the user."""
    headers = {"Authorization": "Bearer " + os.environ["TOKEN"]}
    reply = requests.request(method, BASE + path, headers=headers, json=data and {"data": data}, timeout=30)
    check(reply.ok, "%s %s: %s %s" % (method, path, reply.status_code, reply.text))
    return reply.json()["data"]


def written(folder, name, value):
    """A file with this JSON."""
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        json.dump(value, file)
    return path


def run(*arguments):
    """What a run of the tap prints."""
    command = [sys.executable, os.path.abspath(__file__), "tap", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    check(ended.returncode == 0, "the tap failed: %s" % ended.stderr[-4000:])
    return ended.stdout


def sync(*arguments):
    """The records of each stream, and the last state."""
    records, state = {}, None
    for line in run(*arguments).splitlines():
        message = json.loads(line)
        if message["type"] == "SCHEMA":
            records.setdefault(message["stream"], [])
        elif message["type"] == "RECORD":
            records[message["stream"]].append(message["record"])
        elif message["type"] == "STATE":
            state = message["value"]
    return records, state


def gids(records):
    return sorted({record["gid"] for record in records})


def there(path):
    """The gids of a list, all pages of it."""
    found, offset = [], ""
    while offset is not None:
        page = requests.get(
            BASE + path + ("&" if "?" in path else "?") + "limit=100" + offset,
            headers={"Authorization": "Bearer " + os.environ["TOKEN"]},
            timeout=30,
        ).json()
        found += [item["gid"] for item in page["data"]]
        offset = page["next_page"] and "&offset=" + page["next_page"]["offset"]
    return sorted(set(found))


def main(folder):
    config = written(folder, "config.json", {
        "start_date": "2020-01-01T00:00:00Z",
        "client_id": os.environ["CLIENT_ID"],
        "client_secret": os.environ["CLIENT_SECRET"],
        "redirect_uri": os.environ["REDIRECT_URI"],
        "refresh_token": os.environ["REFRESH_TOKEN"],
    })
    catalog = json.loads(run("--config", config, "--discover"))
    for stream in catalog["streams"]:
        name = stream["tap_stream_id"]
        whole = [entry for entry in stream["metadata"] if entry["breadcrumb"] == []]
        check(len(whole) == 1, "no metadata of %s" % name)
        whole[0]["metadata"]["selected"] = name not in LEFT_OUT
    catalog = written(folder, "catalog.json", catalog)
    step("the streams of the tap")

    workspaces = there("/workspaces")
    projects = there("/projects")
    placed = sorted({gid for project in projects for gid in there("/projects/%s/tasks" % project)})
    # The newest change is later than everything of the demo.
    parent = placed[0]
    subtask = api("POST", "/tasks/%s/subtasks" % parent, {"name": "Below"})["gid"]
    api("PUT", "/tasks/%s" % placed[-1], {"notes": "the last one before the first run"})

    records, state = sync("--config", config, "--catalog", catalog)
    for stream, expected in {
        "workspaces": workspaces,
        "projects": projects,
        "tasks": placed,
        "users": there("/users"),
        "tags": there("/tags"),
        "sections": sorted({gid for project in projects for gid in there("/projects/%s/sections" % project)}),
    }.items():
        check(expected, "there are no %s" % stream)
        check(gids(records[stream]) == expected, "%s: %s, not %s" % (stream, gids(records[stream]), expected))
    teams = sorted({gid for home in workspaces for gid in there("/organizations/%s/teams" % home)})
    check(gids(records["teams"]) == teams and teams, "teams: %s" % gids(records["teams"]))
    check(subtask in gids(records["subtasks"]), "subtasks: %s" % gids(records["subtasks"]))
    check(records["stories"], "no stories")
    bookmark = state["bookmarks"]["tasks"]["modified_at"]
    check(bookmark.count(":") == 2 and not bookmark.endswith("Z"), "a bookmark without a zone: %s" % bookmark)
    step("a full sync: %s" % ", ".join("%d %s" % (len(found), name) for name, found in sorted(records.items())))

    state = written(folder, "state.json", state)
    again, _ = sync("--config", config, "--catalog", catalog, "--state", state)
    check(placed[1] not in gids(again["tasks"]), "what did not change came again: %s" % gids(again["tasks"]))
    made = api("POST", "/tasks", {"name": "New since", "projects": [projects[0]]})["gid"]
    api("PUT", "/tasks/%s" % parent, {"name": "Changed since"})
    records, later = sync("--config", config, "--catalog", catalog, "--state", state)
    found = {task["gid"]: task["name"] for task in records["tasks"]}
    check(found.get(made) == "New since", "the new task is missing: %s" % found)
    check(found.get(parent) == "Changed since", "the changed task is missing: %s" % found)
    check(set(found) <= {made, parent, placed[-1]}, "what did not change came again: %s" % found)
    check(later["bookmarks"]["tasks"]["modified_at"] > bookmark, "the bookmark did not move")
    step("an incremental sync from the bookmark: %d tasks" % len(found))
    print("%d steps passed" % done, flush=True)


if sys.argv[1:2] == ["tap"]:
    del sys.argv[1]
    tap()
else:
    with tempfile.TemporaryDirectory() as folder:
        main(folder)
