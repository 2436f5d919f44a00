// The helper's own tests, which are also examples: the client under test is the official Node library.
import Asana from 'asana'
import { expect, inject, vi } from 'vitest'
import { Refused } from '../index.js'
import { test } from '../vitest.js'

function client(world, token = world.token) {
  const made = new Asana.ApiClient()
  made.basePath = world.baseUrl
  made.authentications.token.accessToken = token
  return made
}

test('a world begins with a demo and is for one test', async ({ world }) => {
  const users = new Asana.UsersApi(client(world))
  const me = await users.getUser('me', {})
  expect(me.data.name).toBe('Ann Admin')
  await world.verify({ operation: 'getUser', status: 200, count: 1 })
})

test('time moves when the test says so', async ({ world }) => {
  const before = await world.clock.now()
  await world.clock.advance('25h')
  expect((await world.clock.now()) - before).toBe(25 * 3600 * 1000)
})

test('all workers share the stand-in of the run', ({ world }) => {
  expect(world.url.startsWith(`${inject('workgraphStandIn') ?? process.env.WORKGRAPH_STAND_IN_URL}/w/`)).toBe(true)
})

// A client that waits as long as a 429 says. Its first request is made: it takes longer than others.
async function clientWithFortySecondsToWait(world) {
  const get = async () => {
    for (;;) {
      const reply = await fetch(`${world.baseUrl}/users/me`, { headers: { authorization: `Bearer ${world.token}` } })
      if (reply.status !== 429) return reply.status
      const wait = Number(reply.headers.get('retry-after'))
      await new Promise((resolve) => setTimeout(resolve, wait * 1000))
    }
  }
  expect(await get()).toBe(200)
  await world.limits.exhaust('standard')
  await world.clock.advance(20)
  return get
}

test('a client that waits out a limit gets in, in no time', async ({ world }) => {
  const get = await clientWithFortySecondsToWait(world)
  const restore = world.bridgeTimers()
  const started = performance.now()
  try {
    expect(await get()).toBe(200)
  } finally {
    restore()
  }
  // About 15 on a machine that does nothing else.
  expect(performance.now() - started).toBeLessThan(1_000)
  expect(restore.slept).toEqual([40_000])
  await world.grade({ require: ['retry-after'] })
})

test('fake timers are bridged too, and the time of Date moves', async ({ world }) => {
  const get = await clientWithFortySecondsToWait(world)
  const started = performance.now()
  vi.useFakeTimers()
  const restore = world.bridgeTimers(vi)
  const began = Date.now()
  try {
    expect(await get()).toBe(200)
    expect(Date.now() - began).toBe(40_000)
  } finally {
    restore()
    vi.useRealTimers()
  }
  expect(performance.now() - started).toBeLessThan(1_000)
  expect(restore.slept).toEqual([40_000])
  await world.grade({ require: ['retry-after'] })
})

test('an inbox receives what was refused at first', async ({ world }) => {
  const inbox = await world.inbox('orders', { answer: 500, times: 2 })
  const project = await world.api('POST', '/projects', { name: 'Orders', team: world.teams[0].gid })
  await world.api('POST', '/webhooks', { resource: project.gid, target: inbox.url })
  await world.api('POST', '/tasks', { name: 'Buy', projects: [project.gid] })
  await world.clock.advance('1h')
  const events = await inbox.events()
  expect(events.some((event) => event.resource.resource_type === 'task')).toBe(true)
})

test('an app acts for a user, and a world begins again', async ({ world }) => {
  const { access_token } = await world.grant({ user: world.users[1].email })
  const me = async (token) => (await new Asana.UsersApi(client(world, token)).getUser('me', {})).data.name
  expect(await me(access_token)).toBe(world.users[1].name)
  const project = await world.api('POST', '/projects', { name: 'Orders', team: world.teams[0].gid })
  const { people, projects } = await world.fixture()
  expect(people.map((one) => one.name)).toEqual(world.users.map((one) => one.name))
  expect(projects.map((one) => one.name)).toContain('Orders')
  await world.reset()
  await expect(world.api('GET', `/projects/${project.gid}`)).rejects.toThrow(Refused)
  expect(await me(world.token)).toBe('Ann Admin')
})

test('a client that waits by the clock of the machine breaks a rule', async ({ world }) => {
  await world.limits.exhaust('standard')
  const get = () => fetch(`${world.baseUrl}/users/me`, { headers: { authorization: `Bearer ${world.token}` } })
  expect((await get()).status).toBe(429)
  expect((await get()).status).toBe(429)
  await expect(world.grade()).rejects.toThrow(/retry-after: broken/)
  expect(await world.grade({ rules: ['pages-by-next-page'] })).toEqual({ 'pages-by-next-page': 'skipped' })
})

test('a fault meets the request that it names', async ({ world }) => {
  await world.faults.add({ error: 'unavailable' }, { operation: 'createTask', times: 1 })
  const task = { name: 'Buy', workspace: world.workspaces[0].gid }
  await expect(world.api('POST', '/tasks', task)).rejects.toThrow(Refused)
  await world.api('POST', '/tasks', task)
  await expect(world.verify({ operation: 'createTask', status: 500 })).rejects.toThrow('createTask')
})
