"""Parts of the benchmarks over PostgreSQL: loads, pgbench, the statements of a request. Python 3 alone."""
import glob
import json
import os
import re
import subprocess
import time
from servers import programs

BENCH = os.environ.get("WORKGRAPH_BENCH_BIN", "target/dist/workgraph-bench")


def load(server, requests, connections=16, seconds=None):
    """Sends requests to a server: for some seconds, or each once."""
    how = ["--once"] if seconds is None else ["--seconds", str(seconds)]
    return subprocess.Popen([BENCH, "load", "--addr", f"127.0.0.1:{server.port}", "--token", server.token, "--requests",
                             str(requests), "--connections", str(connections), *how], stdout=subprocess.PIPE, text=True)


def finish(started):
    done = json.loads(started.communicate()[0])
    if done["failed"]:
        raise SystemExit(f"requests failed: {done}")
    return done


def cpu(pid):
    """Returns the processor time of a process and its children, ended ones too, in seconds."""
    ticks = 0
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            text = open(stat).read()
        except OSError:
            continue
        fields = text.rpartition(")")[2].split()
        if int(text.split()[0]) == pid:
            ticks += sum(map(int, fields[11:15]))
        elif int(fields[1]) == pid:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class Statements:
    """The statements of a server on PostgreSQL, by the server's log. The server must log to logs/*.json."""

    def __init__(self, pg):
        self.pg = pg

    def of(self, act):
        """Returns what is sent while something is done: a list of (process, text, parameters)."""
        self.switch("all")
        before = len(self.lines())
        value = act()
        time.sleep(0.3)
        self.switch("none")
        return value, self.lines()[before:]

    def switch(self, what):
        self.pg.sql(f"ALTER SYSTEM SET log_statement = '{what}'")
        self.pg.sql("SELECT pg_reload_conf()")
        time.sleep(0.3)

    def lines(self):
        found = []
        for path in glob.glob(str(self.pg.folder / "logs/*.json")):
            for line in open(path, errors="replace"):
                record = json.loads(line)
                if not record.get("application_name", "").startswith("workgraph/"):
                    continue
                kind, _, text = record["message"].partition(": ")
                if kind == "statement" or kind.startswith("execute"):
                    if not re.match(r"SET |SHOW |UPDATE member|.*work_lease|.*node_", text):
                        detail = record.get("detail", "").removeprefix("parameters: ")
                        found.append((record["pid"], " ".join(text.split()), parameters(detail)))
        return found


def parameters(detail):
    values, at = [], 0
    for match in iter(lambda: re.compile(r"\$\d+ = ").match(detail, at), None):
        at = match.end()
        if detail[at] == "'":
            end = at + 1
            while detail[end] != "'" or detail[end:end + 2] == "''":
                end += 2 if detail[end] == "'" else 1
            values.append(detail[at:end + 1])
            at = end + 1
        else:
            values.append("NULL")
            at += 4
        at += 2
    return values


def inlined(text, values, names):
    """Returns a statement for pgbench: parameters are literals, or variables where `names` has their value."""
    def literal(number):
        value = values[int(number) - 1]
        if value.strip("'") in names:
            return names[value.strip("'")]
        elements = value.strip("'{}").split(",")
        if re.fullmatch(r"'\{[-0-9,NUL]+\}'", value) and not names.keys().isdisjoint(elements):
            return f"ARRAY[{','.join(names.get(element, element) for element in elements)}]"
        if ":" in value or "\\" in value:
            # What pgbench would take for a variable is escaped.
            return "E" + value.replace("\\", "\\\\").replace(":", "\\x3A")
        return value
    return re.sub(r"\$(\d+)", lambda found: literal(found.group(1)), text) + ";"


def pgbench(pg, database, script, connections=16, seconds=5):
    """Returns the transactions per second of a script, prepared, with the settings of the store's connections."""
    settings = "-c jit=off -c plan_cache_mode=force_generic_plan"
    command = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    command += ["env", f"PGOPTIONS={settings}", str(programs() / "pgbench"), "-h", str(pg.socket), "-U", "postgres", "-n", "-M", "prepared",
                "-c", str(connections), "-j", "1", "-T", str(seconds), "-f", str(script), database]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/")
    found = re.search(r"tps = ([0-9.]+)", done.stdout)
    failed = re.search(r"number of failed transactions: (\d+)", done.stdout)
    if not found or (failed and failed.group(1) != "0") or "aborted" in done.stderr:
        raise SystemExit(f"pgbench: {done.stdout} {done.stderr}")
    return float(found.group(1))
