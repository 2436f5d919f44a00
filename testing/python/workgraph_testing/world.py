"""A world: the data, the time and the faults of one test."""

import contextlib
import datetime
import http.client
import json
import time
import urllib.parse


class Refused(Exception):
    """A request to the stand-in that it refused; the text says why."""


def call(method, url, body=None, token=None, whole=False):
    """Sends a request, and returns the data of its reply, or the whole reply. No proxy is asked: the stand-in is near."""
    address = urllib.parse.urlsplit(url)
    kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    headers = {"Content-Type": "application/json", "Connection": "close"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    with contextlib.closing(kind(address.netloc)) as connection:
        target = urllib.parse.urlunsplit(("", "", address.path, address.query, ""))
        connection.request(method, target, None if body is None else json.dumps(body), headers)
        reply = connection.getresponse()
        text = reply.read()
    if reply.status >= 300:
        raise Refused(f"{method} {url}: {reply.status}: {text.decode(errors='replace')}")
    shown = json.loads(text)
    return shown if whole else shown["data"]


class World:
    """A world of a stand-in. Its ``base_url`` and ``token`` are for the client under test."""

    def __init__(self, server_url, made):
        self._server_url = server_url
        self.id = made["id"]
        self.seed = made["seed"]
        self.url = made["auth_url"]
        self.base_url = made["base_url"]
        self.token = made.get("personal_access_token")
        self.users = made.get("users", [])
        self.workspaces = made.get("workspaces", [])
        self.apps = made.get("apps", [])
        self.names = made.get("names", {})
        self.clock = Clock(self)
        self.limits = Limits(self)
        self.faults = Faults(self)

    def control(self, method, path, body=None):
        """Sends a control request to this world."""
        return call(method, f"{self.url}/-/{path}", body)

    def api(self, method, path, data=None):
        """Sends a request to the API as the first user, and returns its data; for the arrangement of a test."""
        body = None if data is None else {"data": data}
        return call(method, f"{self.base_url}{path}", body, self.token)

    def requests(self, **pattern):
        """Returns the requests that this world received and that match: ``operation``, ``method``, ``path``, ``status``."""
        query = urllib.parse.urlencode(pattern, safe="/")
        return self.control("GET", f"requests?{query}")

    def recording(self):
        """Returns the requests to the API of this world with their replies, as an HTTP archive (HAR 1.2)."""
        return call("GET", f"{self.url}/-/recording", whole=True)

    def verify(self, **pattern):
        """Fails unless as many requests match as ``count``, ``at_least`` or ``at_most`` say; at least one by default."""
        found = self.control("POST", "requests/verify", pattern)
        if not found["holds"]:
            near = "\n".join(
                f"  {one['method']} {one['path']} ({one['operation']}): {one['status']}"
                for one in found["near_misses"]
            )
            raise AssertionError(
                f"{found['count']} requests match {pattern}; those that nearly do:\n{near or '  none'}"
            )

    def grade(self, *rules):
        """Returns how the clients of this world did by these rules, by default all."""
        query = f"?rules={','.join(rules)}" if rules else ""
        return Grade(self.control("GET", f"grade{query}"))

    def inbox(self, name, answer=None, times=None):
        """Returns a receiver of webhooks. With ``answer`` it answers that status, ``times`` times or always."""
        if answer is not None:
            self.control("PUT", f"inbox/{name}", {"answer": answer, "times": times})
        return Inbox(self, name)

    @contextlib.contextmanager
    def bridged_sleep(self):
        """Lets ``time.sleep`` and ``asyncio.sleep`` move the clock of this world in place of waiting. Yields the sleeps."""
        # Most tests need no asyncio, and its import takes longer than a world.
        import asyncio

        slept = Slept()
        real_sleep, real_asyncio_sleep = time.sleep, asyncio.sleep

        def sleep(seconds):
            slept.add(seconds)
            if seconds > 0:
                self.clock.advance(seconds)

        async def asyncio_sleep(delay, result=None):
            if delay > 0:
                slept.add(delay)
                await asyncio.get_running_loop().run_in_executor(None, self.clock.advance, delay)
            else:
                await real_asyncio_sleep(0)
            return result

        time.sleep, asyncio.sleep = sleep, asyncio_sleep
        try:
            yield slept
        finally:
            time.sleep, asyncio.sleep = real_sleep, real_asyncio_sleep

    def grant(self, app=None, user=None, scopes=None, **options):
        """Returns tokens of an app for a user without a browser: the reply of the token endpoint.

        ``app`` and ``user`` are named as the world shows them; by default the first ones. ``scopes`` is a list.
        """
        body = {"app": app or self.apps[0]["name"], "user": user, "scopes": scopes, **options}
        return self.control("POST", "oauth/grant", body)

    def authorize(self, url, user=None, decision="allow"):
        """Decides for a user about the address to which an app sends the browser.

        Returns the address to which the browser would be sent back.
        """
        return self.control("POST", "oauth/grant", {"authorize": url, "user": user, "decision": decision})["redirect"]

    def reset(self):
        """Lets the world begin again, with the same token."""
        self.control("POST", "reset", {})

    def fixture(self):
        """Returns what this world has now as a fixture: ``StandIn.world(fixture=...)`` makes an equal world."""
        return self.control("GET", "fixture")

    def copy(self, **options):
        """Makes a world with everything that this one has now."""
        return World(self._server_url, call("POST", f"{self._server_url}/-/worlds", {**options, "from": self.id}))

    def delete(self):
        """Deletes the world with everything in it."""
        call("DELETE", f"{self._server_url}/-/worlds/{self.id}")


class Grade:
    """Verdicts of rules about a client: ``"holds"``, ``"broken"`` or ``"skipped"``, by their names."""

    def __init__(self, shown):
        self.rules = shown["rules"]
        self.verdicts = {one["rule"]: one["verdict"] for one in self.rules}

    def require(self, *names):
        """Fails unless these rules were judged and hold; without names, unless none is broken."""
        failed = [
            f"  {one['rule']}: {one['verdict']}: {one['why']}"
            for one in self.rules
            if one["verdict"] == "broken" or (one["rule"] in names and one["verdict"] != "holds")
        ]
        unknown = set(names) - set(self.verdicts)
        if unknown:
            raise AssertionError(f"not judged: {', '.join(sorted(unknown))}")
        if failed:
            raise AssertionError("the client breaks rules:\n" + "\n".join(failed))


class Slept:
    """The sleeps of a client, in seconds."""

    def __init__(self):
        self.times = []

    @property
    def seconds(self):
        """The sum of all sleeps."""
        return sum(self.times)

    def add(self, seconds):
        self.times.append(seconds)


class Clock:
    """The clock of a world."""

    def __init__(self, world):
        self._world = world

    @property
    def now(self):
        """The time that the world shows."""
        text = self._world.control("GET", "clock")["now"]
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))

    def advance(self, period):
        """Moves the clock by seconds, or by a period such as ``"25h"``. Returns what happened on the way."""
        return self._world.control("POST", "clock", {"advance": period})

    def set(self, when):
        """Moves the clock to a later time: a ``datetime`` with a time zone, or a text."""
        if isinstance(when, datetime.datetime):
            when = when.astimezone(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
        return self._world.control("POST", "clock", {"set": when})

    def run(self):
        """Lets the clock run."""
        return self._world.control("POST", "clock", {"mode": "running"})

    def freeze(self):
        """Stops the clock."""
        return self._world.control("POST", "clock", {"mode": "frozen"})


class Limits:
    """The rate limits of a world."""

    def __init__(self, world):
        self._world = world

    def exhaust(self, limit="standard", token=None):
        """Uses up ``standard``, ``search`` or ``cost`` of a token, by default that of the world."""
        return self._world.control("POST", "limits", {"token": token or self._world.token, "exhaust": limit})


class Faults:
    """The faults that requests to a world meet."""

    def __init__(self, world):
        self._world = world

    def add(self, do, **match):
        """Adds a fault: ``world.faults.add({"error": "internal"}, operation="createTask", times=1)``."""
        return self._world.control("POST", "faults", {"match": match, "do": do})

    def all(self):
        """Returns the faults, with the number of requests that matched each and that met it."""
        return self._world.control("GET", "faults")

    def release(self, fault):
        """Lets the requests go on that a fault holds."""
        return self._world.control("POST", f"faults/{fault['id']}/release", {})

    def clear(self):
        """Deletes all faults."""
        return self._world.control("DELETE", "faults")


class Inbox:
    """A receiver of webhooks within the stand-in."""

    def __init__(self, world, name):
        self._world, self._name = world, name
        self.url = f"{world.url}/-/inbox/{name}"

    @property
    def deliveries(self):
        """The deliveries that it received, each with its events and whether it was signed."""
        return self._world.control("GET", f"inbox/{self._name}")["deliveries"]

    @property
    def events(self):
        """The events of all deliveries that it answered with success."""
        good = (one for one in self.deliveries if one["answered"] < 300)
        return [event for one in good for event in one["events"] or []]
