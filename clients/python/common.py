"""What the workflows with the official Python SDK (PyPI asana 5.4.0) have in common.

Each step of a workflow prints a line, and the first that fails ends it. BASE_URL is in the environment.
"""
import json
import os
import sys

import asana
from asana.rest import ApiException

done = 0


def client(token, again=False):
    """The SDK, acting with a token. Unless it may try again, whatever is refused is seen at once."""
    configuration = asana.Configuration()
    configuration.host, configuration.access_token = os.environ["BASE_URL"], token
    if not again:
        # With None it would be urllib3's own strategy, which waits as well.
        configuration.retry_strategy = False
    return asana.ApiClient(configuration)


def step(words):
    """Says that everything up to here held."""
    global done
    done += 1
    print("ok %d %s" % (done, words), flush=True)


def expect(got, want, what):
    if got != want:
        raise AssertionError("%s: %r instead of %r" % (what, got, want))


def check(holds, what):
    if not holds:
        raise AssertionError(what)


def refused(status, message, call):
    """The call must fail with this status, in the errors envelope, with this in the message."""
    try:
        got = call()
        if hasattr(got, "__next__"):
            got = list(got)
    except ApiException as error:
        expect(error.status, status, "status (%s)" % error.body)
        errors = json.loads(error.body)["errors"]
        check(message in errors[0]["message"], "message: %r lacks %r" % (errors, message))
        return
    raise AssertionError("not refused: %r" % (got,))


def passed():
    """Says that all steps passed, and ends the script, which the SDK's thread pool must not keep."""
    print("%d steps passed" % done)
    sys.stdout.flush()
    os._exit(0)
