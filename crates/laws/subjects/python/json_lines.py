"""The protocol of `workgraph laws limiter`, with a time that the run sets."""

import json
import sys
import time

_now_ms = 0
time.time = lambda: _now_ms / 1000
time.monotonic = time.time
time.time_ns = lambda: _now_ms * 1_000_000
time.monotonic_ns = time.time_ns


def answer(hello, start, admit):
    """`start(window_ms, quota)` makes a limiter; `admit(key, weight)` returns None, or the fields that state the wait."""
    global _now_ms
    print(json.dumps(hello), flush=True)
    for line in sys.stdin:
        op = json.loads(line)
        _now_ms = op.get("now", _now_ms)
        reply = {}
        if op["op"] == "stop":
            return
        if op["op"] == "new":
            start(op["window_ms"], op["quota"])
        elif op["op"] == "admit":
            wait = admit(op["key"], op["weight"])
            reply = {"admitted": True} if wait is None else {"admitted": False, **wait}
        print(json.dumps(reply), flush=True)
