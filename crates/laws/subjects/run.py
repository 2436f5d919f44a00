#!/usr/bin/env python3
"""Judges the limiters and pagers of subjects.toml by the laws and writes docs/generated/LAWS-TABLE.md.

    python3 crates/laws/subjects/run.py [--only NAME ...] [--build DIR]

It installs the packages that the lock files name from their registries (cargo, pip, npm), and wants the debug builds of the
program and of the examples of workgraph-laws: `cargo build -p workgraph`, `cargo build -p workgraph-laws --examples`.
All choices come from one seed and the limiters' time from the run, so a second run writes the same file.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TABLE = ROOT / "docs/generated/LAWS-TABLE.md"
SEED = 1
# Operations for each law. A pager's are requests over HTTP.
OPERATIONS = {"limiter": 2_000, "pagination": 250}
MOST_STEPS = 12
MARKS = {"holds": "✓", "broken": "✗", "promised": "◇", "skipped": "–"}


def check(command, **more):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"{command} ends with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


class Registry:
    """Where packages come from: how they are installed, started, and what they say of themselves."""

    def __init__(self, build, target):
        self.build, self.target = build, target
        self.python = build / "python/bin/python"

    def install(self, registries):
        if "python" in registries:
            if not self.python.exists():
                check([sys.executable, "-m", "venv", self.build / "python"])
            check([self.python, "-m", "pip", "install", "-q", "-r", HERE / "python/requirements.txt"])
        if "node" in registries:
            check(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=HERE / "node")
        if "rust" in registries:
            environment = {**os.environ, "CARGO_TARGET_DIR": str(self.build / "rust")}
            check(["cargo", "build", "--locked"], cwd=HERE / "rust", env=environment)

    def command(self, subject):
        file = HERE / subject["adapter"]
        start = {
            "rust": [self.build / "rust/debug/subjects"],
            "python": [self.python, file],
            "node": ["node", file],
            "own": [self.target / "examples" / file.stem] if file.suffix == ".rs" else [sys.executable, file],
        }[subject["registry"]]
        return [str(part) for part in start] + subject.get("arguments", [])

    def about(self, subject):
        """Returns version and licence, as the installed package states them."""
        package = subject["package"]
        if subject["registry"] == "node":
            stated = json.loads((HERE / "node/node_modules" / package / "package.json").read_text())
            return stated["version"], stated["license"]
        if subject["registry"] == "python":
            code = (
                "import sys, importlib.metadata as m; d = m.metadata(sys.argv[1]); "
                "print(d['Version']); print(d['License-Expression'] or d['License'])"
            )
            return tuple(check([self.python, "-c", code, package]).split("\n")[:2])
        folder = HERE / "rust" if subject["registry"] == "rust" else ROOT
        more = [] if subject["registry"] == "rust" else ["--no-deps"]
        found = json.loads(check(["cargo", "metadata", "--locked", "--format-version", "1", *more], cwd=folder))
        stated = next(entry for entry in found["packages"] if entry["name"] == package)
        return stated["version"], stated["license"]


def judge(kind, subject, registry, workgraph):
    """Returns the report of `workgraph laws` about a subject."""
    command = registry.command(subject)
    flags = ["--json", "--seed", SEED, "--operations", subject.get("operations", OPERATIONS[kind])]
    skipped = subject.get("skip", {})
    flags += ["--skip", ",".join(skipped)] if skipped else []
    laws = [workgraph, "laws", kind, *flags]
    if kind == "limiter":
        return report(subject, subprocess.run([*map(str, laws), "--", *command], capture_output=True, text=True))
    environment = {**os.environ, "WORKGRAPH": str(workgraph)}
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        first = program.stdout.readline()
        if not first:
            sys.exit(f"{subject['name']} does not start:\n{program.stderr.read()}")
        words = json.loads(first)
        # What it logs is of no interest, but must not fill the pipe.
        threads = ThreadPoolExecutor(2)
        threads.submit(program.stderr.read), threads.submit(program.stdout.read)
        text = (HERE / subject["adapter"]).with_suffix(".toml").read_text()
        for word, value in words.items():
            text = text.replace(word, str(value))
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as config:
            config.write(text)
            config.flush()
            judged = subprocess.run([*map(str, laws), "--config", config.name], capture_output=True, text=True)
    finally:
        program.terminate()
        program.wait()
    judged.stdout = judged.stdout.replace(f"127.0.0.1:{words['PORT']}", "127.0.0.1:3000")
    return report(subject, judged)


def report(subject, judged):
    if judged.returncode not in (0, 1) or not judged.stdout.startswith("{"):
        sys.exit(f"{subject['name']} can't be judged:\n{judged.stdout}{judged.stderr}")
    laws = json.loads(judged.stdout)["laws"]
    for law in laws:
        if law["law"] in subject.get("skip", {}):
            law["why"] = subject["skip"][law["law"]]
        promise = subject.get("promises", {}).get(law["law"])
        if law["verdict"] == "broken" and promise:
            law.update(verdict="promised", promise=promise)
        elif promise:
            sys.exit(f"{subject['name']} keeps {law['law']}, which subjects.toml says it promises otherwise")
        if len(law["steps"]) > MOST_STEPS:
            sys.exit(f"{subject['name']}, {law['law']}: a counterexample of {len(law['steps'])} steps")
    return laws


def cell(text):
    return text.replace("|", "\\|")


def listed(names):
    return ", ".join(names) if names else "none"


def table(subjects):
    """Returns the rows of a kind: a subject a row, a law a column."""
    laws = [law["law"] for law in subjects[0]["laws"]]
    rows = [f"| Subject | Version | Licence | {' | '.join(laws)} |", "|---|---|---|" + ":-:|" * len(laws)]
    for subject in subjects:
        marks = " | ".join(MARKS[law["verdict"]] for law in subject["laws"])
        path = os.path.relpath(HERE / subject["adapter"], TABLE.parent)
        version, licence = subject["about"]
        rows.append(f"| [{cell(subject['name'])}]({path}) | {version} | {cell(licence)} | {marks} |")
    return rows


def rules(subjects):
    return [f"| {law['law']} | {law['rule']} |" for law in subjects[0]["laws"]]


def details(subject):
    """Returns the section of a subject: what is not judged and why, and each counterexample."""
    lines = [f"### {subject['name']}", "", subject["note"], ""]
    skipped = {}
    for law in subject["laws"]:
        if law["verdict"] == "skipped":
            skipped.setdefault(law["why"], []).append(law["law"])
    lacking = "the limiter does not have "
    abilities = {why: why.removeprefix(lacking).strip(chr(34)) for why in skipped if why.startswith(lacking)}
    without = [f"{law} ({ability})" for why, ability in abilities.items() for law in skipped[why]]
    if without:
        lines.append(f"- Not judged, since it does not set out to do this: {listed(without)}.")
    for why, names in skipped.items():
        if why not in abilities:
            lines.append(f"- {listed(names)} not judged: {why}.")
    found = [law for law in subject["laws"] if law["verdict"] in ("broken", "promised")]
    if not found:
        lines.append("- Every judged law holds.")
    for law in found:
        if law["verdict"] == "broken":
            meaning = f"**{law['law']} is broken.** Nobody can rely on \"{law['rule']}\" here: {law['why']}."
        else:
            meaning = f"{law['law']} is promised otherwise: {law['promise']}. Here {law['why']}."
        if lines[-1]:
            lines.append("")
        lines += [f"- {meaning}", "", "  ```text"]
        lines += [f"  {number:>2}. {step}" for number, step in enumerate(law["steps"], 1)]
        lines += ["  ```", ""]
    return [*lines, ""] if lines[-1] else lines


def document(limiters, pagers):
    own = [subject for subject in limiters + pagers if subject["registry"] == "own"]
    lines = [
        "# The laws on known limiters and pagers",
        "",
        "`workgraph laws` on packages of others and on our own, as [LAWS.md](../LAWS.md) describes it. The table is made by",
        "[run.py](../../crates/laws/subjects/run.py) (`just laws-table`) from the packages in their registries; each subject is a",
        "small adapter that uses its library as the library's documentation shows.",
        "",
        f"- {MARKS['holds']} holds: no counterexample among {OPERATIONS['limiter']:,} operations a law"
        f" ({OPERATIONS['pagination']} requests for a pager).",
        f"- {MARKS['broken']} broken: a counterexample is below.",
        f"- {MARKS['promised']} promised otherwise: the library documents another rule; its section says which.",
        f"- {MARKS['skipped']} not judged: the subject does not set out to do this; its section says why.",
        "",
        "A law says what a caller can rely on, not what is good: a token bucket lets a client catch up, and a plain cursor can",
        "be read in a log. Time is set by the run, to the millisecond, for every limiter.",
        "",
        "## Limiters",
        "",
        *table(limiters),
        "",
        "| Law | Rule |",
        "|---|---|",
        *rules(limiters),
        "",
        "## Pagers",
        "",
        *table(pagers),
        "",
        "| Law | Rule |",
        "|---|---|",
        *rules(pagers),
        "",
        "Rows are made alike, so their sort keys are equal. Without a second user whose cursor is foreign, W8 judges changed",
        "and cut cursors.",
        "",
        "## Counterexamples of limiters",
        "",
        *[line for subject in limiters for line in details(subject)],
        "## Counterexamples of pagers",
        "",
        *[line for subject in pagers for line in details(subject)],
    ]
    broken = [law["law"] for subject in own for law in subject["laws"] if law["verdict"] == "broken"]
    if broken:
        sys.exit(f"our own break {listed(broken)}")
    return "\n".join(lines).rstrip() + "\n"


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--only", nargs="+", metavar="NAME", help="judge these subjects, print, write nothing")
    flags.add_argument("--build", type=pathlib.Path, help="folder for what is installed and compiled [target/laws-table]")
    chosen = flags.parse_args()
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    build = (chosen.build or target / "laws-table").resolve()
    build.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    described = tomllib.loads((HERE / "subjects.toml").read_text())
    kinds = {"limiter": described["limiter"], "pagination": described["pager"]}
    if chosen.only:
        kinds = {kind: [s for s in subjects if s["name"] in chosen.only] for kind, subjects in kinds.items()}
    registry = Registry(build, target / "debug")
    registry.install({subject["registry"] for subjects in kinds.values() for subject in subjects})
    for kind, subjects in kinds.items():
        for subject in subjects:
            started = time.monotonic()
            subject["laws"] = judge(kind, subject, registry, target / "debug/workgraph")
            subject["about"] = registry.about(subject)
            broken = [law["law"] for law in subject["laws"] if law["verdict"] == "broken"]
            print(f"{time.monotonic() - started:6.1f} s  {subject['name']}: broken {listed(broken)}", flush=True)
            if chosen.only:
                print("\n".join(details(subject)))
    if not chosen.only:
        TABLE.write_text(document(kinds["limiter"], kinds["pagination"]))
        print(f"{time.monotonic() - begun:6.1f} s  in all, {TABLE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
