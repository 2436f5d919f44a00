"""The limits, met with the official Python SDK (PyPI asana 5.4.0) as it is: 200 rapid calls, and more at once than may be.

Nothing of the SDK is patched. Waiting is: what the SDK sleeps, the server's clock runs ahead. Environment: BASE_URL,
TOKEN of a user without a paid workspace, WORKSPACE, CLOCK (the socket that drives the server's time) and HOLD (the file
that holds its store).
"""
import concurrent.futures
import os
import socket
import sys
import time
import traceback
import types
import urllib.request

import asana
import urllib3.util.retry
from asana.rest import ApiException
from urllib3.util.retry import Retry

from common import client

BASE_URL, TOKEN, HOLD = (os.environ[name] for name in ("BASE_URL", "TOKEN", "HOLD"))
clock = socket.socket(socket.AF_UNIX)
clock.connect(os.environ["CLOCK"])
told, slept = [], []


def drive(seconds):
    """Lets the server's clock run ahead."""
    clock.sendall(b"%d\n" % round(seconds * 1000))
    assert clock.recv(64).strip().isdigit()


def sleep(seconds):
    """Waits as the SDK does, in the server's time."""
    slept.append(seconds)
    drive(seconds)


def listen(read=Retry.get_retry_after):
    """Notes each Retry-After that the SDK reads."""

    def noting(self, response):
        told.append(read(self, response))
        return told[-1]

    Retry.get_retry_after = noting


def refused(limit):
    text = urllib.request.urlopen(BASE_URL.rsplit("/api/", 1)[0] + "/-/metrics").read().decode()
    name = 'workgraph_limiter_refused_total{limit="%s"} ' % limit
    return int(next(line[len(name):] for line in text.splitlines() if line.startswith(name)))


def together(count, limit, call):
    """So many calls while the store holds all of them: one is refused, and admitted after the wait it was told."""
    open(HOLD, "w").close()
    before = refused(limit)
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        calls = [pool.submit(call, client(TOKEN), number) for number in range(count)]
        done, _ = concurrent.futures.wait(calls, timeout=20, return_when=concurrent.futures.FIRST_COMPLETED)
        # The others are in the server, for as long as it is held.
        assert len(done) == 1, len(done)
        error = done.pop().exception()
        assert isinstance(error, ApiException) and error.status == 429, error
        os.remove(HOLD)
        failed = [one.exception() for one in calls if one.exception() is not None]
    assert failed == [error], failed
    assert refused(limit) == before + 1, (before, refused(limit))
    wait = int(error.headers["Retry-After"])
    assert 1 <= wait <= 30, wait
    drive(wait)
    call(client(TOKEN), count)
    print("ok %d together: one refused, %d s to wait" % (count, wait))


def read(api, _number):
    return asana.UsersApi(api).get_user("me", {})


def write(api, number):
    task = {"data": {"name": "Task %d" % number, "workspace": os.environ["WORKSPACE"]}}
    return asana.TasksApi(api).create_task(task, {})


def main():
    listen()
    urllib3.util.retry.time = types.SimpleNamespace(time=time.time, sleep=sleep)
    api = client(TOKEN, again=True)
    answers = [read(api, number)["gid"] for number in range(200)]
    assert len(answers) == 200 and len(set(answers)) == 1
    named = [seconds for seconds in told if seconds is not None]
    assert named and slept == named, (slept, named)
    assert all(1 <= seconds <= 60 for seconds in named), named
    assert refused("standard") == len(named), "a wait was not enough"
    print("ok 200 calls: none lost, waits of %s s" % named)
    drive(60)
    together(51, "concurrent_reads", read)
    drive(60)
    together(16, "concurrent_writes", write)
    print("3 steps passed")


# The SDK's thread pool must not keep the process, however it ends.
status = 1
try:
    main()
    status = 0
except BaseException:
    traceback.print_exc()
sys.stdout.flush()
sys.stderr.flush()
os._exit(status)
