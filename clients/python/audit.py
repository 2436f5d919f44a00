"""The audit log, followed with the official Python SDK (PyPI asana 5.4.0) as it is.

The log is a stream: its pages never end, so whoever wants what there is so far stops at an empty page, and goes on from
its offset later. Environment: BASE_URL, TOKEN of an admin, SERVICE of a service account, and WORKSPACE.
"""
import os

import asana

from common import check, client, passed, refused, step

WORKSPACE = os.environ["WORKSPACE"]
admin, service = client(os.environ["TOKEN"]), client(os.environ["SERVICE"])
tasks, log = asana.TasksApi(admin), asana.AuditLogAPIApi(service)


def follow(options):
    """The events up to now, and the offset to go on from."""
    events, options = [], dict(options)
    # Without the whole payload the SDK gives the items of all pages, and waits for more for ever.
    while True:
        page = log.get_audit_log_events(WORKSPACE, dict(options), full_payload=True)
        if page["next_page"]:
            options["offset"] = page["next_page"]["offset"]
        if not page["data"]:
            return events, options.get("offset")
        events += page["data"]


def delete(name):
    task = tasks.create_task({"data": {"name": name, "workspace": WORKSPACE}}, {"opt_fields": "name"})
    tasks.delete_task(task["gid"])
    return task["gid"]


events, offset = follow({"limit": 3})
check(events and offset, "the log of the demo is not empty")
check(len({event["gid"] for event in events}) == len(events), "each event once")
check(events == sorted(events, key=lambda event: event["created_at"]), "in order of time")
kinds = {event["event_type"] for event in events}
check({"team_created", "user_invited", "service_account_created"} <= kinds, "what made the demo: %s" % kinds)
step("the log up to now, %d events in pages of 3" % len(events))

gone = delete("Launch party")
more, offset = follow({"limit": 3, "offset": offset})
check([event["resource"]["gid"] for event in more] == [gone], "one more event: %s" % more)
event = more[0]
check(event["event_type"] == "task_deleted" and event["event_category"] == "deletion", event)
check(event["resource"]["name"] == "Launch party", event)
check(event["actor"]["actor_type"] == "user" and "@" in event["actor"]["email"], event)
context = event["context"]
check(context["api_authentication_method"] == "personal_access_token", context)
check(context["client_ip_address"] == "127.0.0.1" and "python" in context["user_agent"], context)
step("one more event, from the offset of the empty page")

again, _ = follow({"limit": 3, "offset": offset})
check(again == [], "caught up")
some = log.get_audit_log_events(WORKSPACE, {"limit": 2}, item_limit=5)
check([event["gid"] for event in some] == [event["gid"] for event in events[:5]], "five by the SDK's own iterator")
step("caught up again; the SDK's own iterator, as far as it is told")

late = delete("Later")
some, _ = follow({"resource_gid": late, "event_type": "task_deleted"})
check([event["resource"]["gid"] for event in some] == [late], some)
some, _ = follow({"start_at": event["created_at"], "actor_gid": event["actor"]["gid"], "limit": 1})
check([event["resource"]["gid"] for event in some][:2] == [gone, late], some)
some, _ = follow({"end_at": event["created_at"], "event_type": "task_deleted"})
check(gone not in [event["resource"]["gid"] for event in some], some)
step("filters")

refused(403, "", lambda: next(asana.AuditLogAPIApi(admin).get_audit_log_events(WORKSPACE, {})))
step("a user's token is refused")
passed()
