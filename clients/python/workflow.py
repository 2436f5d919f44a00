"""A team plans a launch with the official Python SDK (PyPI asana 5.4.0), start to end.

Nothing of the SDK is patched; only its host is set. Environment: BASE_URL, TOKEN, and WORKSPACE and TEAM to work in.
"""
import os

import asana

from common import check, client, expect, passed, refused, step

TASKS, PAGE = 250, 50

api = client(os.environ["TOKEN"])
users, workspaces, teams = asana.UsersApi(api), asana.WorkspacesApi(api), asana.TeamsApi(api)
projects, sections, tasks = asana.ProjectsApi(api), asana.SectionsApi(api), asana.TasksApi(api)
stories, tags, lists = asana.StoriesApi(api), asana.TagsApi(api), asana.UserTaskListsApi(api)


def data(**fields):
    return {"data": fields}


def gids(found):
    return [one["gid"] for one in found]


# Who and where.
me = users.get_user("me", {"opt_fields": "name,email,workspaces.name"})
check("@" in me["email"] and me["workspaces"], "a user with an address and workspaces: %r" % me)
workspace, team = os.environ["WORKSPACE"], os.environ["TEAM"]
check(workspace in gids(me["workspaces"]), "the workspace is one of mine")
expect(workspaces.get_workspace(workspace, {})["resource_type"], "workspace", "resource_type")
check(workspace in gids(workspaces.get_workspaces({})), "the workspace is listed")
check(team in gids(teams.get_teams_for_workspace(workspace, {})), "the team is listed")
people = list(users.get_users_for_workspace(workspace, {"opt_fields": "name,email"}))
colleague = next(one for one in people if one["gid"] != me["gid"])
expect(users.get_user(colleague["email"], {})["gid"], colleague["gid"], "a user by address")
step("I am %s, in a workspace of %d" % (me["name"], len(people)))

# A project with its columns.
project = projects.create_project(data(name="Launch", workspace=workspace, team=team, notes="All of it", color="light-green",
                                       default_view="board", start_on="2031-01-01", due_on="2031-03-31"), {})
plan = project["gid"]
expect((project["name"], project["color"], project["due_on"]), ("Launch", "light-green", "2031-03-31"), "project")
projects.update_project(data(name="Launch of the year", archived=False), plan, {})
expect(projects.get_project(plan, {"opt_fields": "name,team.name"})["name"], "Launch of the year", "name")
check(plan in gids(projects.get_projects_for_team(team, {})), "the team lists the project")
check(plan in gids(projects.get_projects({"workspace": workspace, "archived": False})), "the workspace lists the project")
step("a project")

columns = {}
for name in ("Later", "Now", "Done"):
    columns[name] = sections.create_section_for_project(plan, {"body": data(name=name)})["gid"]
sections.insert_section_for_project(plan, {"body": data(section=columns["Later"], after_section=columns["Now"])})
sections.update_section(columns["Done"], {"body": data(name="Finished")})
order = [one["name"] for one in sections.get_sections_for_project(plan, {}) if one["gid"] in columns.values()]
expect(order, ["Now", "Later", "Finished"], "sections")
step("columns in order")

# One task in depth.
task = tasks.create_task(data(name="Write the announcement", projects=[plan], assignee="me", followers=[colleague["gid"]],
                              due_on="2031-02-10", html_notes="<body>For <strong>everyone</strong> &amp; all</body>"), {})
talk = task["gid"]
expect(task["assignee"]["gid"], me["gid"], "assignee")
expect(task["notes"], "For everyone & all", "notes")
expect({me["gid"], colleague["gid"]}, set(gids(task["followers"])), "followers")
fields = {"opt_fields": "html_notes,due_on,memberships.section.name,projects.name,workspace.gid,completed,num_subtasks"}
found = tasks.get_task(talk, fields)
check("<strong>everyone</strong>" in found["html_notes"], "html_notes: %r" % found["html_notes"])
expect((found["due_on"], found["completed"]), ("2031-02-10", False), "due date and completion")
expect([one["name"] for one in found["projects"]], ["Launch of the year"], "projects")
step("a task with rich text, an assignee and a follower")

tasks.update_task(data(start_on="2031-02-01", due_on="2031-02-12"), talk, {})
found = tasks.get_task(talk, {"opt_fields": "start_on,due_on,due_at"})
expect((found["start_on"], found["due_on"], found["due_at"]), ("2031-02-01", "2031-02-12", None), "dates")
tasks.update_task(data(due_at="2031-02-12T15:30:00.000Z", start_on=None), talk, {})
found = tasks.get_task(talk, {"opt_fields": "start_on,due_on,due_at"})
check(found["due_at"].startswith("2031-02-12T15:30:00"), "due_at: %r" % found)
step("dates")

sections.add_task_for_section(columns["Now"], {"body": data(task=talk)})
expect(gids(tasks.get_tasks_for_section(columns["Now"], {})), [talk], "the column Now")
sections.add_task_for_section(columns["Later"], {"body": data(task=talk)})
expect(gids(tasks.get_tasks_for_section(columns["Now"], {})), [], "the column Now, later")
expect(gids(tasks.get_tasks_for_section(columns["Later"], {})), [talk], "the column Later")
step("from column to column")

parts = [tasks.create_subtask_for_task(data(name="Part %d" % i), talk, {})["gid"] for i in range(3)]
expect(gids(tasks.get_subtasks_for_task(talk, {})), parts, "subtasks")
tasks.set_parent_for_task(data(parent=talk, insert_before=parts[0]), parts[2], {})
expect(gids(tasks.get_subtasks_for_task(talk, {})), [parts[2], parts[0], parts[1]], "subtasks, moved")
expect(tasks.get_task(talk, {"opt_fields": "num_subtasks"})["num_subtasks"], 3, "num_subtasks")
expect(tasks.get_task(parts[0], {"opt_fields": "parent"})["parent"]["gid"], talk, "parent")
step("subtasks")

tasks.add_dependencies_for_task(data(dependencies=[parts[0], parts[1]]), talk)
expect(set(gids(tasks.get_dependencies_for_task(talk, {}))), {parts[0], parts[1]}, "dependencies")
expect(gids(tasks.get_dependents_for_task(parts[0], {})), [talk], "dependents")
tasks.remove_dependencies_for_task(data(dependencies=[parts[0]]), talk)
expect(gids(tasks.get_dependencies_for_task(talk, {})), [parts[1]], "dependencies, one less")
step("dependencies")

comment = stories.create_story_for_task(data(text="How far are we?"), talk, {})
expect(comment["text"], "How far are we?", "comment")
rich = stories.create_story_for_task(data(html_text="<body>See <em>above</em></body>"), talk, {"opt_fields": "text,html_text"})
check("<em>above</em>" in rich["html_text"], "html_text: %r" % rich)
stories.update_story(data(text="How far are we now?"), comment["gid"], {})
said = [one["text"] for one in stories.get_stories_for_task(talk, {"opt_fields": "text,type"}) if one["type"] == "comment"]
expect(said, ["How far are we now?", "See above"], "comments")
stories.delete_story(rich["gid"])
refused(404, "Unknown object", lambda: stories.get_story(rich["gid"], {}))
step("comments")

tag = tags.create_tag_for_workspace(data(name="press", color="dark-red"), workspace, {})
tasks.add_tag_for_task(data(tag=tag["gid"]), talk)
expect(gids(tags.get_tags_for_task(talk, {})), [tag["gid"]], "tags of the task")
expect(gids(tasks.get_tasks_for_tag(tag["gid"], {})), [talk], "tasks of the tag")
tasks.remove_tag_for_task(data(tag=tag["gid"]), talk)
expect(gids(tags.get_tags_for_task(talk, {})), [], "tags of the task, later")
step("a tag")

followers = tasks.remove_follower_for_task(data(followers=[colleague["gid"]]), talk, {"opt_fields": "followers"})
expect(gids(followers["followers"]), [me["gid"]], "followers, one less")
followers = tasks.add_followers_for_task(data(followers=[colleague["email"]]), talk, {"opt_fields": "followers"})
check(colleague["gid"] in gids(followers["followers"]), "followers by address")
step("followers")

closed = tasks.update_task(data(completed=True), talk, {"opt_fields": "completed,completed_at,completed_by"})
expect((closed["completed"], closed["completed_by"]["gid"]), (True, me["gid"]), "completed")
check(closed["completed_at"].endswith("Z"), "completed_at: %r" % closed)
opened = tasks.update_task(data(completed=False), talk, {"opt_fields": "completed,completed_at"})
expect((opened["completed"], opened["completed_at"]), (False, None), "opened again")
kinds = [one["resource_subtype"] for one in stories.get_stories_for_task(talk, {"opt_fields": "resource_subtype"})]
check("marked_complete" in kinds and "marked_incomplete" in kinds and "due_date_changed" in kinds, "history: %r" % kinds)
step("done and not done")

# My tasks.
mine = lists.get_user_task_list_for_user("me", workspace, {})
check(talk in gids(tasks.get_tasks_for_user_task_list(mine["gid"], {"limit": 100})), "my list has the task")
check(talk in gids(tasks.get_tasks({"assignee": "me", "workspace": workspace, "limit": 100})), "GET /tasks has the task")
step("my tasks")

# Many tasks, page by page.
bulk = projects.create_project(data(name="Guests", workspace=workspace, team=team), {})["gid"]
made = [tasks.create_task(data(name="Guest %03d" % i, projects=[bulk]), {"opt_fields": "name"})["gid"] for i in range(TASKS)]
expect(len(set(made)), TASKS, "distinct gids")
listed = list(tasks.get_tasks_for_project(bulk, {"limit": PAGE, "opt_fields": "name"}))
expect(gids(listed), made, "the iterator gives all, in order")
expect(listed[-1]["name"], "Guest %03d" % (TASKS - 1), "the last one's name")
sizes, options = [], {"limit": PAGE}
while True:
    page = tasks.get_tasks_for_project(bulk, dict(options), full_payload=True)
    sizes.append(len(page["data"]))
    if not page["next_page"]:
        break
    check(page["next_page"]["uri"].startswith(os.environ["BASE_URL"]), "uri: %r" % page["next_page"])
    check(page["next_page"]["path"].startswith("/projects/"), "path: %r" % page["next_page"])
    options["offset"] = page["next_page"]["offset"]
expect(sizes, [PAGE] * (TASKS // PAGE), "pages")
counts = projects.get_task_counts_for_project(bulk, {"opt_fields": "num_tasks,num_completed_tasks"})
expect((counts["num_tasks"], counts["num_completed_tasks"]), (TASKS, 0), "task counts")
some = list(tasks.get_tasks_for_project(bulk, {"limit": PAGE}, item_limit=PAGE + 7))
expect(len(some), PAGE + 7, "item_limit")
step("%d tasks in pages of %d" % (TASKS, PAGE))

# A task in two projects.
tasks.add_project_for_task(data(project=bulk, insert_before=made[0]), talk)
expect(gids(tasks.get_tasks_for_project(bulk, {"limit": 2})), [talk, *made], "the task leads the second project")
expect(set(gids(projects.get_projects_for_task(talk, {}))), {plan, bulk}, "projects of the task")
tasks.remove_project_for_task(data(project=bulk), talk)
expect(gids(projects.get_projects_for_task(talk, {})), [plan], "projects of the task, later")
step("two projects")

# What is refused, and how.
refused(404, "Unknown object", lambda: tasks.get_task("999999999", {}))
refused(400, "Missing input", lambda: tasks.get_tasks({}))
refused(400, "Not a recognized ID", lambda: tasks.get_task("no-gid", {}))
refused(400, "due_on", lambda: tasks.create_task(data(name="x", projects=[plan], due_on="31/12/2031"), {}))
refused(400, "limit", lambda: tasks.get_tasks_for_project(bulk, {"limit": 101}))
refused(400, "offset", lambda: tasks.get_tasks_for_project(bulk, {"limit": 10, "offset": "made-up"}))
refused(400, "Unknown object", lambda: tasks.create_task(data(name="x", projects=["999999999"]), {}))
refused(401, "Not Authorized", lambda: asana.UsersApi(client("unknown")).get_user("me", {}))
if os.environ.get("FOREIGN_TASK"):
    refused(403, "", lambda: tasks.get_task(os.environ["FOREIGN_TASK"], {}))
step("refusals")

# The end of it.
for gid in (parts[0], talk):
    tasks.delete_task(gid)
    refused(404, "Unknown object", lambda: tasks.get_task(gid, {}))
tags.delete_tag(tag["gid"])
sections.delete_section(columns["Done"])
for gid in (bulk, plan):
    projects.delete_project(gid)
    refused(404, "Unknown object", lambda: projects.get_project(gid, {}))
check(plan not in gids(projects.get_projects_for_team(team, {})), "the team lists it no more")
step("all removed")
passed()
