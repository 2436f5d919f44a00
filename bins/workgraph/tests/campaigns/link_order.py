"""Finds out which functions a server uses, and writes their names for the linker, those first that take most of the time.

What is used then lies together in the program: fewer pages of it are read, and it keeps more room in the caches of a processor.
Needs valgrind and a server with symbols, built as it is shipped. Python 3 alone."""
import collections
import concurrent.futures
import glob
import http.client
import http.server
import json
import os
import pathlib
import re
import sys
import threading
import time
import urllib.parse
import servers
from servers import Scratch, Server

OUT = pathlib.Path(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 4
CLIENTS = 16
TASKS = 300
WORDS = ["anchor", "boat", "cargo", "deck", "engine", "ferry", "gale", "harbour", "island"]
NESTED = "name,completed,due_on,assignee.name,projects.name,memberships.section.name,tags.name,followers.name"
HEAD = """# Functions of the server in the order in which the linker places them: what is used lies together.
# Written by `just link-order`; a name that is not found is no error. See docs/decisions/operation.md.
"""


class Receiver(http.server.BaseHTTPRequestHandler):
    """A receiver of webhooks."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        if "X-Hook-Secret" in self.headers:
            self.send_header("X-Hook-Secret", self.headers["X-Hook-Secret"])
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Load:
    """Requests to a server, over several connections."""

    def __init__(self, server):
        self.server, self.local = server, threading.local()
        self.pool = concurrent.futures.ThreadPoolExecutor(CLIENTS)

    def send(self, method, path, body=None, headers=None):
        if not hasattr(self.local, "connection"):
            self.local.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=120)
        connection = self.local.connection
        connection.request(method, path, body, headers or {})
        reply = connection.getresponse()
        text = reply.read()
        if reply.status >= 400:
            raise SystemExit(f"{method} {path}: {reply.status} {text[:500]}")
        return reply, text

    def form(self, path, fields, cookies=""):
        return self.send("POST", path, urllib.parse.urlencode(fields),
                         {"Content-Type": "application/x-www-form-urlencoded", "Cookie": cookies})

    def api(self, method, path, data=None):
        sent = None if data is None else json.dumps({"data": data})
        headers = {"Authorization": f"Bearer {self.server.token}", "Content-Type": "application/json", "Accept": "application/json"}
        return json.loads(self.send(method, f"/api/1.0{path}", sent, headers)[1])["data"]

    def run(self, what, one):
        """Does something for some time, with the number of each time."""
        began, numbers = time.monotonic(), iter(range(10**9))

        def client():
            while time.monotonic() - began < SECONDS:
                one(next(numbers))
        for done in [self.pool.submit(client) for _ in range(CLIENTS)]:
            done.result()
        print(f"{what}: {next(numbers)}", flush=True)

    def tokens(self):
        """Has the demo's first user authorize the demo's first app."""
        user, app = self.server.demo["users"][0], self.server.demo["apps"][0]

        def hidden(page, name):
            return re.search(rf'name="{name}" value="([^"]*)"', page.decode())[1].replace("&amp;", "&")

        def cookie(reply, name):
            return next(c.split(";")[0] for c in reply.headers.get_all("Set-Cookie") if c.startswith(f"{name}="))
        reply, page = self.send("GET", "/-/sign_in")
        given = {"csrf": hidden(page, "csrf"), "email": user["email"], "password": user["password"]}
        session = cookie(self.form("/-/sign_in", given, cookie(reply, "workgraph-form"))[0], "workgraph")
        asked = {"client_id": app["client_id"], "redirect_uri": app["redirect_uri"], "response_type": "code", "state": "s"}
        _, page = self.send("GET", f"/-/oauth_authorize?{urllib.parse.urlencode(asked)}", headers={"Cookie": session})
        decided = {"request": hidden(page, "request"), "ticket": hidden(page, "ticket"), "decision": "allow"}
        place = self.form("/-/oauth_authorize", decided, session)[0].headers["Location"]
        own = {"client_id": app["client_id"], "client_secret": app["client_secret"]}
        code = urllib.parse.parse_qs(urllib.parse.urlsplit(place).query)["code"][0]
        got = self.form("/-/oauth_token", {**own, "grant_type": "authorization_code", "redirect_uri": app["redirect_uri"], "code": code})
        return own, json.loads(got[1])


def graph(load):
    """Makes people, a project with sections and tasks; returns a maker of tasks and the project."""
    workspace = load.server.demo["workspaces"][0]["gid"]
    team = load.api("GET", f"/organizations/{workspace}/teams")[0]["gid"]
    project = load.api("POST", "/projects", {"name": "A project", "workspace": workspace, "team": team})["gid"]
    sections = [load.api("POST", f"/projects/{project}/sections", {"name": f"Section {n}"})["gid"] for n in range(10)]
    people = [user["gid"] for user in load.api("GET", f"/users?workspace={workspace}")]

    def task(number, project=project):
        at = number % len(people)
        return {"name": f"Task {number} of {word(number)}", "projects": [project], "assignee": people[at],
                "followers": [people[at - 1], people[at - 2]], "due_on": f"2027-{number % 12 + 1:02}-{number % 28 + 1:02}",
                "memberships": [{"project": project, "section": sections[number % len(sections)]}]}
    return workspace, team, project, task


def word(number):
    return WORDS[number % len(WORDS)]


def drive(load):
    """Sends requests of all usual kinds, each for the same time."""
    workspace, team, project, task = graph(load)
    made = [load.api("POST", "/tasks", task(number))["gid"] for number in range(TASKS)]
    own, tokens = load.tokens()
    load.run("tasks at random", lambda n: load.api("GET", f"/tasks/{made[n * 7919 % TASKS]}"))
    load.run("one task", lambda n: load.api("GET", f"/tasks/{made[0]}"))
    load.run("the user", lambda n: load.api("GET", "/users/me"))
    load.run("introspection", lambda n: load.form("/-/token_info", {"token": tokens["access_token"]}))
    load.run("refreshes", lambda n: load.form("/-/oauth_token", {**own, "grant_type": "refresh_token",
                                                                  "refresh_token": tokens["refresh_token"]}))
    load.run("pages", lambda n: load.api("GET", f"/projects/{project}/tasks?limit=100"))
    load.run("nested pages", lambda n: load.api("GET", f"/tasks?project={project}&limit=100&opt_fields={NESTED}"))
    actions = [{"method": "get", "relative_path": f"/tasks/{gid}"} for gid in made[:10]]
    load.run("batches", lambda n: load.api("POST", "/batch", {"actions": actions}))
    search = f"/workspaces/{workspace}/tasks/search"
    load.run("searches by text", lambda n: load.api("GET", f"{search}?text={urllib.parse.quote(word(n))}"))
    load.run("searches by assignee", lambda n: load.api("GET", f"{search}?assignee.any=me&completed=false&due_on.after=2027-03-01"))
    load.run("typeahead", lambda n: load.api("GET", f"/workspaces/{workspace}/typeahead?resource_type=task&query=Task%20{n % 100}"))
    load.run("creates", lambda n: load.api("POST", "/tasks", task(n)))
    load.run("updates", lambda n: load.api("PUT", f"/tasks/{made[n % TASKS]}", {"completed": n % 2 == 0, "name": f"Named {n}"}))
    load.run("comments", lambda n: load.api("POST", f"/tasks/{made[n % TASKS]}/stories", {"text": "A comment"}))
    items = load.api("POST", "/portfolios", {"name": "A portfolio", "workspace": workspace})["gid"]
    for number in range(30):
        item = load.api("POST", "/projects", {"name": f"Item {number}", "workspace": workspace, "team": team})["gid"]
        load.api("POST", f"/portfolios/{items}/addItem", {"item": item})
    load.run("portfolios", lambda n: load.api("GET", f"/portfolios/{items}/items?limit=100&opt_fields=name,owner.name,members.name"))
    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    load.api("POST", "/webhooks", {"resource": project, "target": f"http://127.0.0.1:{receiver.server_port}/"})
    load.run("creates with a webhook", lambda n: load.api("POST", "/tasks", task(n)))
    receiver.shutdown()


def used(files, program):
    """Returns the functions of a program by what they cost, dearest first, from the records of callgrind."""
    costs = collections.Counter()
    for file in files:
        objects, functions, here, at, called = {}, {}, None, None, False
        for line in open(file):
            if named := re.match(r"(c?ob|c?fn)=\((\d+)\)(?: (.*))?$", line):
                kind, number, name = named.groups()
                names = objects if kind.endswith("ob") else functions
                if name:
                    names[number] = re.sub(r"'\d+$", "", name)
                if kind == "ob":
                    here = names[number]
                elif kind == "fn":
                    at = names[number]
            elif line.startswith("calls="):
                called = True
            elif cost := re.match(r"[+*\-\d]\S* (\d+)$", line):
                # The line after a call has the cost of that.
                if not called and here == program:
                    costs[at] += int(cost[1])
                called = False
    return [name for name, _ in costs.most_common()]


def main():
    program = os.path.realpath(servers.BINARY)
    with Scratch() as root:
        wrapper = root / "workgraph"
        wrapper.write_text(f'#!/bin/sh\nexec valgrind -q --tool=callgrind --demangle=no "--callgrind-out-file={root}/record.%p" {program} "$@"\n')
        wrapper.chmod(0o755)
        servers.BINARY = str(wrapper)
        for drives in (True, False):
            server = Server(root / "data", WORKGRAPH_WEBHOOKS_ALLOW_LOOPBACK="true", WORKGRAPH_OAUTH_TOKEN_INFO_PER_MINUTE="off",
                            WORKGRAPH_LIMITS_SEARCH="1000000000")
            if drives:
                drive(Load(server))
            server.stop()
        names = used(glob.glob(f"{root}/record.*"), program)
    OUT.write_text(HEAD + "".join(f"{name}\n" for name in names if re.fullmatch(r"[\w.$]+", name)))
    print(f"{len(names)} functions of {program}", flush=True)


main()
