// A team plans a launch with the official Node SDK (npm asana 3.2.0), start to end.
//
// Nothing of the SDK is patched; only its base path is set. Each step prints a line, the first that
// fails ends the script. Environment: BASE_URL, TOKEN, and WORKSPACE and TEAM to work in; the SDK is
// looked for in the folder CLIENTS/node.
'use strict';
const assert = require('node:assert/strict');
const { createRequire } = require('node:module');
const path = require('node:path');

const { BASE_URL, TOKEN, WORKSPACE, TEAM, CLIENTS, FOREIGN_TASK } = process.env;
const Asana = createRequire(path.resolve(CLIENTS, 'node', 'package.json'))('asana');
const TASKS = 250;
const PAGE = 50;

Asana.ApiClient.instance.basePath = BASE_URL;
Asana.ApiClient.instance.authentications.token.accessToken = TOKEN;
const users = new Asana.UsersApi();
const workspaces = new Asana.WorkspacesApi();
const teams = new Asana.TeamsApi();
const projects = new Asana.ProjectsApi();
const sections = new Asana.SectionsApi();
const tasks = new Asana.TasksApi();
const stories = new Asana.StoriesApi();
const tags = new Asana.TagsApi();
const lists = new Asana.UserTaskListsApi();

let done = 0;
const step = (words) => console.log(`ok ${(done += 1)} ${words}`);
const of = (data) => ({ data });
const gids = (found) => found.map((one) => one.gid);
const sorted = (list) => [...list].sort();

/** All items of a collection, page by page, with the sizes of the pages. */
async function walk(first) {
  const all = [];
  const sizes = [];
  for (let page = await first; page.data; page = await page.nextPage()) {
    all.push(...page.data);
    sizes.push(page.data.length);
  }
  return { all, sizes };
}

/** The call must fail with this status, in the errors envelope, with this in the message. */
async function refused(status, message, call) {
  let error = null;
  let got = null;
  try {
    got = await call();
  } catch (e) {
    error = e;
  }
  assert.ok(error, `not refused: ${JSON.stringify(got && got.data)}`);
  assert.equal(error.status, status, `${error.status} ${error.response && error.response.text}`);
  const { errors } = JSON.parse(error.response.text);
  assert.ok(errors[0].message.includes(message), `${errors[0].message} lacks ${message}`);
}

async function main() {
  // Who and where.
  const me = (await users.getUser('me', { opt_fields: 'name,email,workspaces.name' })).data;
  assert.ok(me.email.includes('@') && gids(me.workspaces).includes(WORKSPACE), JSON.stringify(me));
  assert.equal((await workspaces.getWorkspace(WORKSPACE, {})).data.gid, WORKSPACE);
  assert.ok(gids((await teams.getTeamsForWorkspace(WORKSPACE, {})).data).includes(TEAM));
  const people = (await users.getUsersForWorkspace(WORKSPACE, { opt_fields: 'email' })).data;
  const colleague = people.find((one) => one.gid !== me.gid);
  step(`I am ${me.name}`);

  // A project with its columns.
  const project = (await projects.createProject(of({ name: 'Move', workspace: WORKSPACE, team: TEAM, due_on: '2031-06-30' }), {})).data;
  assert.equal(project.due_on, '2031-06-30');
  const plan = project.gid;
  await projects.updateProject(of({ name: 'Move to the new house', color: 'dark-blue' }), plan, {});
  const read = (await projects.getProject(plan, { opt_fields: 'name,color,owner,workspace' })).data;
  assert.deepEqual([read.name, read.color, read.workspace.gid], ['Move to the new house', 'dark-blue', WORKSPACE]);
  const columns = [];
  for (const name of ['Packed', 'Moved']) {
    columns.push((await sections.createSectionForProject(plan, { body: of({ name }) })).data.gid);
  }
  await sections.insertSectionForProject(plan, { body: of({ section: columns[1], before_section: columns[0] }) });
  const order = gids((await sections.getSectionsForProject(plan, {})).data).filter((gid) => columns.includes(gid));
  assert.deepEqual(order, [columns[1], columns[0]]);
  step('a project and its columns');

  // One task in depth.
  const fields = { opt_fields: 'name,notes,html_notes,assignee,followers,due_on,completed,completed_at,memberships.section' };
  const made = await tasks.createTask(
    of({ name: 'Books', projects: [plan], assignee: me.gid, followers: [colleague.gid], html_notes: '<body><ul><li>old</li><li>new</li></ul></body>' }),
    fields,
  );
  const books = made.data.gid;
  assert.equal(made.data.assignee.gid, me.gid);
  assert.deepEqual(sorted(gids(made.data.followers)), sorted([me.gid, colleague.gid]));
  assert.ok(made.data.html_notes.includes('<li>old</li>'), made.data.html_notes);
  await tasks.updateTask(of({ due_on: '2031-06-01', start_on: '2031-05-20' }), books, {});
  assert.equal((await tasks.getTask(books, fields)).data.due_on, '2031-06-01');
  await sections.addTaskForSection(columns[0], { body: of({ task: books }) });
  assert.deepEqual(gids((await tasks.getTasksForSection(columns[0], {})).data), [books]);
  step('a task, its dates and its column');

  const parts = [];
  for (const name of ['Fetch boxes', 'Sort', 'Pack']) {
    parts.push((await tasks.createSubtaskForTask(of({ name }), books, {})).data.gid);
  }
  assert.deepEqual(gids((await tasks.getSubtasksForTask(books, {})).data), parts);
  await tasks.addDependenciesForTask(of({ dependencies: [parts[0]] }), parts[2]);
  assert.deepEqual(gids((await tasks.getDependenciesForTask(parts[2], {})).data), [parts[0]]);
  assert.deepEqual(gids((await tasks.getDependentsForTask(parts[0], {})).data), [parts[2]]);
  await tasks.setParentForTask(of({ parent: null }), parts[1], {});
  assert.deepEqual(gids((await tasks.getSubtasksForTask(books, {})).data), [parts[0], parts[2]]);
  step('subtasks and dependencies');

  const comment = (await stories.createStoryForTask(of({ text: 'Mind the heavy ones' }), books, {})).data;
  await stories.updateStory(of({ text: 'Mind the heavy ones!' }), comment.gid, {});
  const history = (await stories.getStoriesForTask(books, { opt_fields: 'text,resource_subtype' })).data;
  assert.deepEqual(history.filter((s) => s.resource_subtype === 'comment_added').map((s) => s.text), ['Mind the heavy ones!']);
  const tag = (await tags.createTag(of({ name: 'heavy', workspace: WORKSPACE }), {})).data;
  await tasks.addTagForTask(of({ tag: tag.gid }), books);
  assert.deepEqual(gids((await tasks.getTasksForTag(tag.gid, {})).data), [books]);
  await tasks.removeFollowerForTask(of({ followers: [colleague.gid] }), books, {});
  assert.deepEqual(gids((await tasks.getTask(books, fields)).data.followers), [me.gid]);
  step('a comment, a tag, followers');

  const closed = (await tasks.updateTask(of({ completed: true }), books, fields)).data;
  assert.ok(closed.completed && closed.completed_at.endsWith('Z'));
  const opened = (await tasks.updateTask(of({ completed: false }), books, fields)).data;
  assert.deepEqual([opened.completed, opened.completed_at], [false, null]);
  const list = (await lists.getUserTaskListForUser('me', WORKSPACE, {})).data;
  const { all: mine } = await walk(tasks.getTasksForUserTaskList(list.gid, { limit: 100 }));
  assert.ok(gids(mine).includes(books));
  step('done, not done, and in my list');

  // Many tasks, page by page.
  const bulk = (await projects.createProject(of({ name: 'Boxes', workspace: WORKSPACE, team: TEAM }), {})).data.gid;
  const boxes = [];
  for (let i = 0; i < TASKS; i += 1) {
    boxes.push((await tasks.createTask(of({ name: `Box ${i}`, projects: [bulk] }), { opt_fields: 'name' })).data.gid);
  }
  const { all, sizes } = await walk(tasks.getTasksForProject(bulk, { limit: PAGE, opt_fields: 'name' }));
  assert.deepEqual(gids(all), boxes);
  assert.deepEqual(sizes, Array(TASKS / PAGE).fill(PAGE));
  assert.equal(all[TASKS - 1].name, `Box ${TASKS - 1}`);
  const counts = (await projects.getTaskCountsForProject(bulk, { opt_fields: 'num_tasks' })).data;
  assert.equal(counts.num_tasks, TASKS);
  step(`${TASKS} tasks in pages of ${PAGE}`);

  // What is refused, and how.
  await refused(404, 'Unknown object', () => tasks.getTask('999999999', {}));
  await refused(400, 'Missing input', () => tasks.getTasks({}));
  await refused(400, 'limit', () => tasks.getTasksForProject(bulk, { limit: 0 }));
  await refused(400, 'due_on', () => tasks.updateTask(of({ due_on: '2031-02-30' }), books, {}));
  await refused(400, 'completed', () => tasks.updateTask(of({ completed: 'perhaps' }), books, {}));
  const stranger = new Asana.ApiClient();
  stranger.basePath = BASE_URL;
  stranger.authentications.token.accessToken = 'unknown';
  await refused(401, 'Not Authorized', () => new Asana.UsersApi(stranger).getUser('me', {}));
  if (FOREIGN_TASK) {
    await refused(403, '', () => tasks.getTask(FOREIGN_TASK, {}));
  }
  step('refusals');

  // The end of it.
  await tasks.deleteTask(books);
  await refused(404, 'Unknown object', () => tasks.getTask(books, {}));
  await tags.deleteTag(tag.gid);
  for (const gid of [bulk, plan]) {
    await projects.deleteProject(gid);
    await refused(404, 'Unknown object', () => projects.getProject(gid, {}));
  }
  step('all removed');
  console.log(`${done} steps passed`);
}

main().catch((error) => {
  console.error(error.response ? `${error.status} ${error.response.text}\n${error.stack}` : error);
  process.exit(1);
});
