"""requests, which knows only the public address, in an environment whose proxy leads to a stand-in.

Environment: that of `workgraph run --intercept app.asana.com`.
"""
import os

import requests

PUBLIC = "https://app.asana.com/api/1.0"
CONTROL = os.environ["WORKGRAPH_STAND_IN_URL"] + "/-/worlds"
done = 0


def step():
    global done
    done += 1


def ask(token, method, path, data=None):
    headers = {"Authorization": "Bearer " + token}
    reply = requests.request(method, PUBLIC + path, headers=headers, json=data and {"data": data}, timeout=30)
    return reply.status_code, reply.json()


def main():
    first = os.environ["WORKGRAPH_TOKEN"]
    second = requests.post(CONTROL, json={}, timeout=30).json()["data"]["personal_access_token"]
    status, me = ask(first, "GET", "/users/me")
    assert (status, me["data"]["name"]) == (200, "Ann Admin"), me
    step()
    # Two worlds at once.
    workspace = me["data"]["workspaces"][0]["gid"]
    for token, name in [(first, "one"), (second, "two")]:
        for number in range(2):
            data = {"name": f"{name} {number}", "workspace": workspace, "assignee": "me"}
            assert ask(token, "POST", "/tasks", data)[0] == 201, name
    for token, name, other in [(first, "one", "two"), (second, "two", "one")]:
        _, tasks = ask(token, "GET", f"/tasks?assignee=me&workspace={workspace}&limit=100")
        names = [task["name"] for task in tasks["data"]]
        assert f"{name} 0" in names and f"{other} 0" not in names, names
    step()
    # Links lead to the public address.
    _, page = ask(second, "GET", f"/tasks?assignee=me&workspace={workspace}&limit=1")
    assert page["next_page"]["uri"].startswith(PUBLIC + "/tasks?"), page["next_page"]
    reply = requests.get(page["next_page"]["uri"], headers={"Authorization": "Bearer " + second}, timeout=30)
    assert reply.status_code == 200, reply.text
    step()
    # Nothing leaves the machine, and a page of the public host moves no world.
    try:
        requests.get("https://example.com/", timeout=30)
        raise AssertionError("another host was reached")
    except requests.exceptions.ProxyError as error:
        assert "403" in str(error), error
    for headers in [{}, {"Host": "127.0.0.1"}]:
        refused = requests.post(PUBLIC.replace("/api/1.0", "/-/worlds"), json={}, headers=headers, timeout=30)
        assert refused.status_code == 403, refused.text
    step()
    print(f"{done} steps passed")


main()
