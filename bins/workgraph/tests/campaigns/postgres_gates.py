"""The rates of a server over PostgreSQL beside pgbench with the same statements, in turns; then three nodes beside one.

Server or pgbench, PostgreSQL and the load share the machine. Ratios are medians over the rounds."""
import pathlib
import random
import re
import statistics
import subprocess
import sys
import time
from bench_parts import Statements, cpu, finish, inlined, load, pgbench
from servers import WIDE, Postgres, Scratch, Server, json

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 5
ONLY = sys.argv[3:] or ["1", "2", "3", "4", "5", "6", "7", "nodes"]
TASKS = 30_000
PAGE = 100
HOT = min(2000, TASKS // 3)
NESTED = "name,completed,due_on,assignee.name,projects.name,memberships.section.name,tags.name"
# Tasks in one commit where there are sixteen writers.
GROUP = 8
STATE = "UPDATE store_state SET seq = seq + {} RETURNING seq, audit_seq;"
PLUS = "\\startpipeline\n{}\n\\endpipeline\n"


def lines(path, requests):
    path.write_text("\n".join(requests) + "\n")
    return path


def get(gid):
    return f"GET /api/1.0/tasks/{gid}"


def post(project, number):
    task = {"name": f"Task {number} of the measurement", "notes": "What is to be done about it. " * 8, "projects": [project], "assignee": "me"}
    return f"POST /api/1.0/tasks {json.dumps({'data': task})}"


class Campaign:
    def __init__(self, root):
        self.root = root
        settings = ["max_connections = 200", "shared_buffers = 512MB", "log_destination = jsonlog", "logging_collector = on",
                    "log_directory = logs", "max_wal_size = 4GB", "checkpoint_timeout = 30min"]
        self.pg = Postgres(root, settings)
        self.pg.make()
        self.pg.start()
        self.pg.sql("CREATE DATABASE workgraph TEMPLATE template0 ENCODING 'UTF8'")
        self.server = self.start("node")
        self.fill()

    def start(self, name, first=None, **more):
        """Starts a node. All have the keys and the demo's token of the first."""
        folder = self.root / name
        if first:
            folder.mkdir()
            for file in ["keys.json", "bootstrap.json", "signing-keys.json", "audit-key.json"]:
                if (self.root / first / file).exists():
                    (folder / file).write_bytes((self.root / first / file).read_bytes())
                    (folder / file).chmod(0o600)
        (self.root / "files").mkdir(exist_ok=True)
        # A demo keeps records of requests; only the first start makes one.
        demo = not (self.root / "node" / "bootstrap.json").exists()
        return Server(folder, demo, WORKGRAPH_STORE_URL=self.pg.url("workgraph"), WORKGRAPH_STORE_SHARED_FILES=str(self.root / "files"), **more)

    def fill(self):
        workspace = self.server.demo["workspaces"][0]["gid"]
        team = self.server.ask("GET", f"/organizations/{workspace}/teams")[0]["gid"]
        projects = [self.server.ask("POST", "/projects", {"name": f"Project {n}", "workspace": workspace, "team": team})["gid"]
                    for n in range(TASKS // PAGE)]
        self.projects, began = projects, time.monotonic()
        made = finish(load(self.server, lines(self.root / "fill", [post(projects[n % len(projects)], n) for n in range(TASKS)]), 64))
        print(f"{made['requests']} tasks in {time.monotonic() - began:.0f} s, {made['rate']:.0f} a second over 64 connections", flush=True)
        self.tasks = self.pg.sql("SELECT gid FROM node WHERE kind = 9 AND head LIKE '%of the measurement%' ORDER BY gid", "workgraph").split()
        # The commits of pgbench go to a copy: their entries of the journal are no commits of a node.
        self.server.stop()
        self.pg.sql("CREATE DATABASE copy TEMPLATE workgraph")
        for database in ["workgraph", "copy"]:
            self.pg.sql("VACUUM ANALYZE", database)
        self.pg.sql("CREATE SEQUENCE bench_seq START 1000000000", "copy")
        self.server = self.start("node")

    def scripts(self):
        """Makes the scripts of pgbench of what the server sends."""
        statements, project, task = Statements(self.pg), self.projects[0], self.tasks[7]
        # First, since those of a GET read the journal from the last commit on.
        for number in range(3):
            self.server.ask(*self.request(post(project, number)))
        _, written = statements.of(lambda: self.server.ask(*self.request(post(project, 9))))
        [commit] = transactions(written)
        self.commit("locked", commit, STATE)
        self.commit("unlocked", commit, None)
        # Any group will do that has as many tasks as those of sixteen writers have.
        many = lines(self.root / "many", [post(project, number) for number in range(400)])
        _, grouped = statements.of(lambda: finish(load(self.server, many, 34)))
        group = min(transactions(grouped), key=lambda group: abs(entries(group) - GROUP))
        self.group = self.commit("grouped", group, STATE)
        me = self.server.ask("GET", "/users/me")["gid"]
        self.cold = self.start("cold", "node", WORKGRAPH_STORE_CACHES="false")
        self.cold.ask("GET", f"/tasks/{task}")
        ask = self.cold.ask
        _, first = statements.of(lambda: ask("GET", f"/tasks/{task}"))
        # Other connections are those of what nodes do beside requests.
        asking = next(process for process, text, _ in first if "FROM token" in text)
        first = [one for one in first if one[0] == asking]
        # Waves end with the journal, too: the first look into it is that of the token.
        found = [[at for at, one in enumerate(first) if part in one[1]] for part in ("FROM token", "LEFT JOIN (SELECT seq, touched")]
        own = sorted(at[0] for at in found if at)
        opening = [first[at] for at in own]
        token = hot = PLUS.format("\n".join(inlined(text, values, {}) for _, text, values in opening))
        if not any("touched" in text for _, text, _ in opening):
            hot = hot.replace("\\endpipeline", "SELECT s.seq, j.seq, j.touched FROM store_state s LEFT JOIN (SELECT seq, touched FROM journal "
                              "WHERE seq > 1000000 ORDER BY seq LIMIT 1000) j ON true;\n\\endpipeline")
        rest = [one for at, one in enumerate(first) if at not in own]
        known = {me, task, str(2**63 - 1), str(2**63)}
        split = next((at for at, (_, _, values) in enumerate(rest) if set(re.findall(r"\d{14,}", " ".join(values))) - known), len(rest))
        waves = [PLUS.format("\n".join(inlined(text, values, {task: ":gid"}) for _, text, values in part)) for part in (rest[:split], rest[split:]) if part]
        # Gids are made of a number, so that choosing one is no trip.
        gids = [int(gid) for gid in self.tasks]
        picks = sorted(random.sample(gids, 200))
        choice = "\\set at random(0, 199)\n\\set gid " + self.case(picks) + "\n"
        (self.root / "hot.sql").write_text(hot)
        (self.root / "waves.sql").write_text(choice + token + "".join(waves))
        section = self.pg.sql(f"SELECT dst FROM edge WHERE src = {task} AND rel = 1", "workgraph")
        keys = (f"SELECT e.src, e.rel, e.dst, e.rank, e.seq, e.aux FROM edge e JOIN node n ON n.gid = e.src WHERE e.dst = {section} AND "
                f"e.rel = 1 AND (e.rank, e.src) > (-9223372036854775808, 0) AND n.gone IS NULL ORDER BY e.rank, e.src LIMIT {PAGE};")
        (self.root / "keys.sql").write_text(hot.replace("\\endpipeline", keys + "\n\\endpipeline"))
        print(f"statements: {len(opening)} of a token, {split} and {len(rest) - split} of a cold GET, {len(written)} of a POST", flush=True)

    @staticmethod
    def case(values):
        """Returns an expression of pgbench with one of the values, by the variable `at`."""
        def part(low, high):
            if high - low == 1:
                return str(values[low])
            middle = (low + high) // 2
            return f"CASE WHEN :at < {middle} THEN {part(low, middle)} ELSE {part(middle, high)} END"
        return part(0, len(values))

    @staticmethod
    def request(line):
        method, path, body = line.split(" ", 2)
        return method, path.removeprefix("/api/1.0"), json.loads(body)["data"]

    def commit(self, name, made, lock):
        """Makes a script of a transaction of a node, with the lock of the state first or without; returns its number of commits."""
        new = sorted({gid for text, values in made if text.startswith("INSERT INTO node") for gid in values[0].strip("'{}").split(",")})
        names = {gid: f":g{n}" for n, gid in enumerate(new)}
        # Of the numbers, only those of the key of the journal must be new ones.
        base = f"\\set base random(1, {32 * 10**12 // len(new)})\n"
        sets = base + "".join(f"\\set g{n} 600000000000000 + :base * {len(new)} + {n}\n" for n in range(len(new)))
        text, done, total = ["BEGIN;"], 0, entries(made)
        if lock:
            text.append(lock.format(total))
        for statement, values in filter(lambda one: re_write(one[0]), made):
            if statement.startswith("INSERT INTO journal"):
                count = entries([(statement, values)])
                seqs = [f"(SELECT seq + {10**12 - done - n} FROM store_state)" if lock else "nextval('bench_seq')" for n in range(count)]
                statement, done = statement.replace("$1", f"ARRAY[{','.join(seqs)}]", 1), done + count
            text.append(inlined(statement, values, names))
        (self.root / f"{name}.sql").write_text(sets + PLUS.format("\n".join([*text, "COMMIT;"])))
        return total

    def turns(self, row, gate, requests, script, connections=16, database="workgraph", server=None):
        ratios, rates, ceilings, waits = [], [], [], []
        for turn in range(ROUNDS):
            given = requests(turn) if callable(requests) else requests
            # What is new the first time is not new the second time.
            seconds = None if callable(requests) else SECONDS
            done = finish(load(server or self.server, lines(self.root / "requests", given), connections, seconds))
            ceiling = pgbench(self.pg, database, self.root / f"{script}.sql", connections, int(SECONDS))
            rates.append(done["rate"])
            ceilings.append(ceiling)
            waits.append(done["p50_us"] / 1000)
            ratios.append(done["rate"] / ceiling)
        middle = statistics.median
        met = "met" if middle(ratios) >= gate else "MISSED"
        print(f"| {row} | {gate} | {middle(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}), {met} | {middle(rates):.0f} | {middle(ceilings):.0f} | "
              f"{middle(waits):.2f} ms |", flush=True)

    def gates(self):
        self.scripts()
        hot, cold = self.tasks[:HOT], self.tasks[HOT:]
        share = len(cold) // ROUNDS
        finish(load(self.server, lines(self.root / "warm", [get(gid) for gid in hot])))
        page = f"GET /api/1.0/projects/{self.projects[0]}/tasks?limit={PAGE}&opt_fields={NESTED}"

        def mixed(turn):
            new = cold[turn * share:(turn + 1) * share]
            requests = [get(gid) for gid in new + random.choices(hot, k=4 * len(new))]
            random.shuffle(requests)
            return requests

        print("| | gate | ratio | requests/s | pgbench/s | median |\n|---|---|---|---|---|---|", flush=True)
        if "1" in ONLY:
            self.turns("1 GET of one task, warm, beside token and journal", 0.60, [get(hot[0])], "hot")
            self.turns("1 GET of many tasks, warm, beside token and journal", 0.60, [get(gid) for gid in hot], "hot")
        if "2" in ONLY:
            self.turns("2 GET at random, nothing remembered, beside its waves", 0.60, [get(gid) for gid in cold], "waves", server=self.cold)
        self.cold.stop()
        if "3" in ONLY:
            self.turns("3 GET at random, 80 % warm, beside token and journal", 0.45, mixed, "hot")
        if "4" in ONLY:
            self.turns(f"4 page of {PAGE} nested, warm, beside its keys", 0.40, [page], "keys")
        writes = [post(project, n) for n, project in enumerate(self.projects)]
        one = [post(self.projects[1], n) for n in range(100)]
        if "5" in ONLY:
            self.turns("5 POST of a task, beside the same rows without the lock", 0.70, writes, "unlocked", database="copy")
        if "6" in ONLY:
            self.turns("6 POST in one project, 16 writers, beside the same commit by each", 4, one, "locked", database="copy")
            self.grouped()
        if "5" in ONLY:
            self.pg.sql("ALTER SYSTEM SET synchronous_commit = off")
            self.pg.sql("SELECT pg_reload_conf()")
            self.turns("5 POST with synchronous_commit = off, beside the same rows without the lock", 0.55, writes, "unlocked", database="copy")
            self.pg.sql("ALTER SYSTEM RESET synchronous_commit")
            self.pg.sql("SELECT pg_reload_conf()")
        if "7" in ONLY:
            try:
                self.limiter(get(hot[0]))
            except SystemExit as refused:
                print(f"| 7 limits in Redis | 100 µs | NOT MEASURED: {refused} |", flush=True)

    def grouped(self):
        """The same tasks in groups, by PostgreSQL with no node and no load beside it: the most that a node can reach."""
        rates, ceilings = [], []
        for _ in range(ROUNDS):
            rates.append(self.group * max(pgbench(self.pg, "copy", self.root / "grouped.sql", clients, int(SECONDS)) for clients in (1, 2)))
            ceilings.append(pgbench(self.pg, "copy", self.root / "locked.sql", 16, int(SECONDS)))
        ratios, middle = [rate / ceiling for rate, ceiling in zip(rates, ceilings)], statistics.median
        print(f"| PostgreSQL alone with {self.group} of these tasks in one commit, beside the same commit by each | | {middle(ratios):.2f} "
              f"({min(ratios):.2f} to {max(ratios):.2f}) | {middle(rates):.0f} | {middle(ceilings):.0f} | |", flush=True)

    def limiter(self, request):
        """The time that limits in Redis add to a GET at one client: gate 100 µs."""
        socket = self.root / "redis.socket"
        redis = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", ""], stdout=subprocess.DEVNULL)
        Scratch.running.append(redis.kill)
        while not socket.exists():
            time.sleep(0.05)
        # More parts than nodes, so that a new one need not wait for its part.
        WIDE[:2] = ["limits.standard_paid=1000000", "limits.standard_free=1000000", "shared_limits.nodes=16"]
        limited = self.start("limited", "node", WORKGRAPH_SHARED_LIMITS_URL=f"redis+unix://{socket}")
        turns = 2 * ROUNDS + 1
        # Redis keeps each request of the last minute: all turns together make as many as the paid plan has.
        path, added, plain = lines(self.root / "requests", [request] * (1500 // turns)), [], []
        for _ in range(turns):
            without = finish(load(self.server, path, 1))["p50_us"]
            plain.append(without)
            added.append(finish(load(limited, path, 1))["p50_us"] - without)
        middle = statistics.median(added)
        print(f"| 7 limits in Redis, added to a GET at one client | 100 µs | {middle:.0f} µs ({min(added):.0f} to {max(added):.0f}), "
              f"{'met' if middle <= 100 else 'MISSED'} | | | {statistics.median(plain) / 1000:.2f} ms |", flush=True)
        limited.stop()

    def nodes(self, quota=0.10):
        """Three nodes beside one, each with a part of a core, so that it is the nodes that are measured."""
        group = pathlib.Path("/sys/fs/cgroup/cpu")
        if not (group / "cpu.cfs_quota_us").exists():
            group = pathlib.Path("/sys/fs/cgroup/cpu,cpuacct")
        servers = [self.server, *(self.start(f"node-{n}", "node") for n in (2, 3))]
        groups = []
        for at, server in enumerate(servers):
            own = group / f"workgraph-{server.process.pid}"
            own.mkdir()
            Scratch.running.append(lambda own=own: own.exists() and own.rmdir())
            (own / "cpu.cfs_period_us").write_text("20000")
            (own / "cpu.cfs_quota_us").write_text(str(int(20000 * quota)))
            groups.append(own)
        hot = self.tasks[:HOT]
        for server in servers:
            finish(load(server, lines(self.root / "warm", [get(gid) for gid in hot])))
        for server, own in zip(servers, groups):
            (own / "cgroup.procs").write_text(str(server.process.pid))
        cold = self.tasks[HOT:]
        mix = [get(gid) for gid in random.choices(hot, k=8000)] + [get(gid) for gid in random.choices(cold, k=1500)]
        mix += [post(random.choice(self.projects), n) for n in range(500)]
        path = lines(self.root / "mix", mix)
        master = int((self.pg.folder / "postmaster.pid").read_text().split()[0])
        ratios, rates = [], {1: [], 3: []}
        for turn in range(ROUNDS):
            for count in (1, 3):
                before, began = cpu(master), time.monotonic()
                done = [finish(one) for one in [load(server, path, 8, 2 * SECONDS) for server in servers[:count]]]
                rates[count].append((sum(one["rate"] for one in done), (cpu(master) - before) / (time.monotonic() - began)))
            ratios.append(rates[3][-1][0] / rates[1][-1][0])
        middle = statistics.median
        print(f"three nodes with {quota * 100:.0f} % of a core each beside one: {middle(ratios):.2f} times ({min(ratios):.2f} to {max(ratios):.2f}); "
              f"{middle(r for r, _ in rates[1]):.0f} and {middle(r for r, _ in rates[3]):.0f} requests/s, PostgreSQL with "
              f"{middle(c for _, c in rates[1]):.2f} and {middle(c for _, c in rates[3]):.2f} cores; gate 2.6", flush=True)


def transactions(found):
    """Returns the transactions with new nodes among statements: of each, a list of (text, parameters)."""
    done, begun = [], {}
    for process, text, values in found:
        if text.startswith("BEGIN"):
            begun[process] = []
        elif text.startswith("COMMIT"):
            made = begun.pop(process, [])
            if any(one[0].startswith("INSERT INTO node") for one in made):
                done.append(made)
        elif process in begun:
            begun[process].append((text, values))
    return done


def entries(made):
    """Returns the number of entries of the journal that statements append, which is that of the commits."""
    return sum(len(values[0].split(",")) for text, values in made if text.startswith("INSERT INTO journal"))


def re_write(text):
    return text.startswith(("INSERT", "DELETE", "WITH attempt")) and "store_state" not in text


with Scratch() as root:
    campaign = Campaign(root)
    if ONLY != ["nodes"]:
        campaign.gates()
    if "nodes" in ONLY:
        campaign.nodes()
