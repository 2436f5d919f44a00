"""The plugin's own tests, which are also examples: the client under test is the official Python library."""

import asyncio
import time
import urllib.parse

import asana
import pytest

from workgraph_testing import Refused


def client(workgraph):
    configuration = asana.Configuration()
    configuration.host = workgraph.base_url
    configuration.access_token = workgraph.token
    return asana.ApiClient(configuration)


def make_project(workgraph):
    workspace = workgraph.workspaces[0]["gid"]
    team = workgraph.api("GET", f"/workspaces/{workspace}/teams")[0]["gid"]
    return workgraph.api("POST", "/projects", {"name": "Orders", "team": team})["gid"]


def test_the_library_waits_out_a_rate_limit_in_no_time(workgraph):
    workgraph.limits.exhaust("standard")
    started = time.monotonic()
    with workgraph.bridged_sleep() as slept:
        me = asana.UsersApi(client(workgraph)).get_user("me", {})
    assert me["name"] == "Ann Admin"
    assert 1 <= slept.seconds <= 61
    assert time.monotonic() - started < 5
    workgraph.verify(operation="getUser", status=429, at_least=1)
    workgraph.verify(operation="getUser", status=200, count=1)


def test_forty_seconds_of_the_library_s_own_retry_take_less_than_one(workgraph):
    users = asana.UsersApi(client(workgraph))
    workgraph.limits.exhaust("standard")
    workgraph.clock.advance(20)
    started = time.monotonic()
    with workgraph.bridged_sleep() as slept:
        users.get_user("me", {})
    # About 0.02 on a machine that does nothing else.
    assert time.monotonic() - started < 1
    assert slept.times == [40]
    assert [one["status"] for one in workgraph.requests(operation="getUser")] == [429, 200]
    workgraph.grade().require("retry-after")


@pytest.mark.workgraph(now="2026-03-01T09:30:00Z", seed=7)
def test_a_world_begins_at_a_time(workgraph):
    assert workgraph.clock.now.isoformat() == "2026-03-01T09:30:00+00:00"
    workgraph.clock.advance("25h")
    assert workgraph.clock.now.isoformat() == "2026-03-02T10:30:00+00:00"
    with pytest.raises(Refused, match="does not go back"):
        workgraph.clock.set("2026-03-01T09:30:00Z")


def test_an_inbox_receives_what_was_refused_at_first(workgraph):
    inbox = workgraph.inbox("orders", answer=500, times=2)
    project = make_project(workgraph)
    workgraph.api("POST", "/webhooks", {"resource": project, "target": inbox.url})
    workgraph.api("POST", "/tasks", {"name": "Buy", "projects": [project]})
    workgraph.clock.advance("1h")
    assert any(event["resource"]["resource_type"] == "task" for event in inbox.events)
    assert all(delivery["is_signed"] for delivery in inbox.deliveries)


def test_a_fault_meets_the_request_that_it_names(workgraph):
    fault = workgraph.faults.add({"error": "internal"}, operation="createTask", times=1)
    task = {"name": "Buy", "workspace": workgraph.workspaces[0]["gid"]}
    with pytest.raises(Refused, match="500"):
        workgraph.api("POST", "/tasks", task)
    workgraph.api("POST", "/tasks", task)
    assert [one["fired"] for one in workgraph.faults.all() if one["id"] == fault["id"]] == [1]
    with pytest.raises(AssertionError, match="createTask"):
        workgraph.verify(operation="createTask", status=503)


def test_asyncio_is_bridged_too(workgraph):
    async def nap():
        with workgraph.bridged_sleep() as slept:
            await asyncio.sleep(3600)
        return slept.seconds

    before = workgraph.clock.now
    assert asyncio.run(nap()) == 3600
    assert (workgraph.clock.now - before).total_seconds() == 3600


FIXTURE = {
    "people": [{"name": "Ann", "email": "ann@acme.test"}, {"name": "Ben", "email": "ben@acme.test"}],
    "apps": [{"name": "Reports", "client_secret": "chosen", "redirect_uris": ["https://reports.test/callback"]}],
    "teams": [{"name": "Product", "members": ["Ben"]}],
    "projects": [{"name": "Launch", "tasks": [{"name": "Write copy", "assignee": "@Ben", "due_on": {"in_days": 3}}]}],
}


@pytest.mark.workgraph(now="2026-03-01T09:30:00Z", fixture=FIXTURE)
def test_a_world_begins_with_a_fixture(workgraph):
    task = asana.TasksApi(client(workgraph)).get_task(workgraph.names["Write copy"], {})
    assert (task["assignee"]["gid"], task["due_on"]) == (workgraph.names["Ben"], "2026-03-04")


def test_a_world_is_exported_as_a_fixture(workgraph, workgraph_server):
    workgraph.api("POST", "/tasks", {"name": "Mine", "workspace": workgraph.workspaces[0]["gid"]})
    fixture = workgraph.fixture()
    equal = workgraph_server.world(fixture=fixture)
    assert "Mine" in equal.names and equal.fixture() == fixture
    equal.delete()


@pytest.mark.workgraph(fixture=FIXTURE)
def test_the_library_acts_for_a_user_of_an_app(workgraph):
    configuration = asana.Configuration()
    configuration.host = workgraph.base_url
    configuration.access_token = workgraph.grant(user="Ben")["access_token"]
    assert asana.UsersApi(asana.ApiClient(configuration)).get_user("me", {})["name"] == "Ben"
    app = workgraph.apps[0]
    query = urllib.parse.urlencode({
        "response_type": "code", "client_id": app["client_id"], "redirect_uri": app["redirect_uri"], "state": "s1",
    })
    back = workgraph.authorize(f"{workgraph.url}/-/oauth_authorize?{query}", user="Ben", decision="deny")
    assert "error=access_denied" in back and "state=s1" in back


def test_the_library_keeps_the_rules_of_limits_and_pages(workgraph):
    for number in range(3):
        workgraph.api("POST", "/tasks", {"name": str(number), "workspace": workgraph.workspaces[0]["gid"], "assignee": "me"})
    workgraph.limits.exhaust("standard")
    with workgraph.bridged_sleep():
        options = {"assignee": "me", "workspace": workgraph.workspaces[0]["gid"], "limit": 2}
        assert len(list(asana.TasksApi(client(workgraph)).get_tasks(options))) >= 3
    workgraph.grade().require("retry-after", "no-early-requests", "pages-by-next-page", "no-invented-offsets")


@pytest.mark.workgraph(strict=True)
def test_the_library_sends_nothing_that_nobody_knows(workgraph):
    project = make_project(workgraph)
    api = client(workgraph)
    section = asana.SectionsApi(api).create_section_for_project(project, {"body": {"data": {"name": "To do"}}})
    body = {"data": {"name": "Buy", "projects": [project], "assignee": "me"}}
    task = asana.TasksApi(api).create_task(body, {"opt_fields": "name,assignee.name"})
    asana.SectionsApi(api).add_task_for_section(section["gid"], {"body": {"data": {"task": task["gid"]}}})
    assert len(list(asana.TasksApi(api).get_tasks_for_project(project, {"limit": 1}))) == 1
    assert workgraph.requests(has_unknown="true") == []
    with pytest.raises(Refused, match="did you mean notes"):
        workgraph.api("PUT", f"/tasks/{task['gid']}", {"note": "x"})
    assert workgraph.recording()["log"]["entries"]


def test_a_client_that_stops_at_the_first_page_is_found(workgraph):
    for number in range(3):
        workgraph.api("POST", "/tasks", {"name": str(number), "workspace": workgraph.workspaces[0]["gid"], "assignee": "me"})
    workgraph.api("GET", f"/tasks?assignee=me&workspace={workgraph.workspaces[0]['gid']}&limit=2")
    with pytest.raises(AssertionError, match="pages-by-next-page"):
        workgraph.grade().require("pages-by-next-page")


def test_a_world_begins_again(workgraph):
    gid = make_project(workgraph)
    workgraph.clock.advance("1h")
    workgraph.reset()
    with pytest.raises(Refused, match="404"):
        workgraph.api("GET", f"/projects/{gid}")
    assert asana.UsersApi(client(workgraph)).get_user("me", {})["name"] == "Ann Admin"


@pytest.mark.parametrize("number", range(12))
def test_each_test_has_a_world_of_its_own(workgraph, number):
    workspace = workgraph.workspaces[0]["gid"]
    workgraph.api("POST", "/tasks", {"name": f"Mine {number}", "workspace": workspace, "assignee": "me"})
    tasks = workgraph.api("GET", f"/tasks?assignee=me&workspace={workspace}")
    assert sum(task["name"].startswith("Mine") for task in tasks) == 1


def test_a_copy_goes_its_own_way(workgraph):
    copy = workgraph.copy()
    copy.api("POST", "/tasks", {"name": "Only there", "workspace": copy.workspaces[0]["gid"]})
    assert len(copy.requests(operation="createTask")) == 1
    assert workgraph.requests(operation="createTask") == []
    copy.delete()
