"""A team takes its data home with the official Python SDK (PyPI asana 5.4.0): a graph export, an export of resources, an
organization export.

Nothing of the SDK is patched; only its host is set. Environment: BASE_URL, TOKEN, ROBOT (the token of a service
account), and WORKSPACE and TEAM to work in.
"""
import gzip
import json
import os
import time
import urllib.error
import urllib.request

import asana

from common import client, expect, passed, refused, step


def fetched(url):
    with urllib.request.urlopen(url) as reply:
        expect(reply.headers["Content-Type"], "application/gzip", "type")
        expect(reply.headers["Content-Encoding"], None, "the file is sent as it is")
        expect(reply.headers["Cache-Control"], "private, no-store", "caching")
        expect(reply.headers["X-Content-Type-Options"], "nosniff", "sniffing")
        body = reply.read()
        expect(len(body), int(reply.headers["Content-Length"]), "length")
    return gzip.decompress(body).decode()


def waited(look, ended):
    """Looks until it has ended. A job runs beside the requests, in a time that no clock of ours drives."""
    for _ in range(600):
        found = look()
        if ended(found):
            return found
        time.sleep(0.05)
    raise AssertionError("it goes on and on: %r" % (found,))


def withheld(url):
    """The file must not be had from this address."""
    try:
        urllib.request.urlopen(url)
    except urllib.error.HTTPError as error:
        expect(error.code, 403, "status")
        return
    raise AssertionError("not withheld: %s" % url)


user, robot = client(os.environ["TOKEN"]), client(os.environ["ROBOT"])
workspace, team = os.environ["WORKSPACE"], os.environ["TEAM"]

project = asana.ProjectsApi(user).create_project(
    {"data": {"name": "Archive", "team": team, "workspace": workspace}}, {}
)["gid"]
tasks = asana.TasksApi(user)
made = []
for n in range(120):
    fields = {"name": "box %d" % n, "projects": [project]}
    made.append(tasks.create_task({"data": fields}, {})["gid"])
below = tasks.create_subtask_for_task({"data": {"name": "a lid"}}, made[0], {})["gid"]
note = {"data": {"text": "to the left"}}
story = asana.StoriesApi(user).create_story_for_task(note, made[1], {})["gid"]
step("a project with %d tasks" % len(made))

exports, jobs = asana.ExportsApi(user), asana.JobsApi(user)
job = exports.create_graph_export({"data": {"parent": project}})
expect(job["resource_subtype"], "graph_export_request", "kind")


def of_job():
    return jobs.get_job(job["gid"], {})


job = waited(of_job, lambda found: found["status"] in ("succeeded", "failed"))
expect(job["status"], "succeeded", "status")
export = job["new_graph_export"]
records = [json.loads(line) for line in fetched(export["download_url"]).splitlines()]
held = {record["gid"]: record for record in records}
expect(len(held), len(records), "each object once")
for gid in [project, below, story, *made]:
    expect(gid in held, True, "in the file: %s" % gid)
for gid in (made[0], made[119], below):
    expect(tasks.get_task(gid, {}), held[gid], "the record is the one that is shown")
step("a graph export with %d objects" % len(records))

again = of_job()["new_graph_export"]["download_url"]
expect(again.split("?")[0], export["download_url"].split("?")[0], "the same file")
expect(len(fetched(again).splitlines()), len(records), "records")
withheld(again[:-2])
withheld(again.split("?")[0])
step("its address needs no token, but may not be changed")

me = asana.UsersApi(user).get_user("me", {})["gid"]
part = {"resource_type": "task", "filters": {"created_by.any": [me]}, "fields": ["name", "stories.text"]}
body = {"data": {"workspace": workspace, "export_request_parameters": [part]}}
job = exports.create_resource_export(body)
expect(job["resource_subtype"], "export_request", "kind")
job = waited(of_job, lambda found: found["status"] in ("succeeded", "failed"))
expect(job["status"], "succeeded", "status")
records = [json.loads(line) for line in fetched(job["new_resource_export"]["download_url"]).splitlines()]
held = {record["gid"]: record for record in records}
for gid in [below, *made]:
    expect(gid in held, True, "in the file: %s" % gid)
told = [found["text"] for found in held[made[1]]["stories"]]
expect("to the left" in told, True, "its comment")
expect(sorted(held[made[0]]), ["gid", "name", "stories"], "the fields that were named")
step("an export of resources with %d tasks" % len(records))

body = {"data": {"organization": workspace}}
refused(403, "", lambda: asana.OrganizationExportsApi(user).create_organization_export(body, {}))
exports = asana.OrganizationExportsApi(robot)
whole = exports.create_organization_export(body, {})
expect(whole["download_url"], None, "not done yet")


def of_all():
    return exports.get_organization_export(whole["gid"], {})


found = waited(of_all, lambda found: found["state"] in ("finished", "error"))
expect(found["state"], "finished", "state")
everything = json.loads(fetched(found["download_url"]))
gids = [record["gid"] for record in everything]
expect(len(set(gids)), len(gids), "each object once")
expect(set(held) <= set(gids), True, "all of the project is in it")
types = {record["resource_type"] for record in everything}
expect({"workspace", "user", "team", "project", "section", "task", "story"} <= types, True, types)
refused(403, "", lambda: asana.OrganizationExportsApi(user).get_organization_export(whole["gid"], {}))
step("an organization export with %d objects" % len(everything))

passed()
