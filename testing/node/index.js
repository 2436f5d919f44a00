// A stand-in and its worlds: the data, the time and the faults of one test.
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { closeSync, existsSync, openSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const START_MS = 30_000
const MEMORY = '/dev/shm'
const OF_THE_RUNTIME = /\bnode:|[\\/]node_modules[\\/](vitest|@vitest|tinypool)[\\/]/
// Timers may be bridged while a stand-in is used.
const { setTimeout: realSetTimeout, clearTimeout: realClearTimeout } = globalThis
const pause = (ms) => new Promise((resolve) => realSetTimeout(resolve, ms))

/** A request to the stand-in that it refused; the message says why. */
export class Refused extends Error {}

// Not `fetch`: its first use in a worker takes longer than many worlds, and fake timers may stop it.
function ask(method, url, body, token) {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
  const { request } = url.startsWith('https:') ? https : http
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, async (reply) => {
      try {
        let text = ''
        for await (const part of reply.setEncoding('utf8')) text += part
        if (reply.statusCode >= 300) reject(new Refused(`${method} ${url}: ${reply.statusCode}: ${text}`))
        else resolve(JSON.parse(text))
      } catch (error) {
        reject(error)
      }
    })
    sent.once('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

async function call(...request) {
  return (await ask(...request)).data
}

/** A stand-in that serves worlds: a process of its own (`StandIn.start()`), or the address of one that runs. */
export class StandIn {
  #process
  #folder

  constructor(url, process, folder) {
    this.url = url.replace(/\/$/, '')
    this.#process = process
    this.#folder = folder
  }

  /** Starts the program `workgraph`, or the one that the environment variable WORKGRAPH_BIN names, on a free port. */
  static async start({ args = [], binary = process.env.WORKGRAPH_BIN ?? 'workgraph' } = {}) {
    // What a test leaves is worth nothing, so it need not reach a disk.
    const folder = await mkdtemp(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'workgraph-stand-in-'))
    const log = openSync(join(folder, 'log'), 'w')
    const child = spawn(
      binary,
      ['serve', '--stand-in', '--listen=127.0.0.1:0', `--data=${join(folder, 'data')}`, `--port-file=${join(folder, 'port')}`, ...args],
      { stdio: ['ignore', log, log] },
    )
    closeSync(log)
    let failure
    child.once('error', (error) => (failure = error.message))
    child.once('exit', (code) => (failure ??= `it ended with ${code}`))
    const started = Date.now()
    for (;;) {
      const port = await readFile(join(folder, 'port'), 'utf8').catch(() => '')
      if (port.trim()) return new StandIn(`http://127.0.0.1:${port.trim()}`, child, folder)
      if (failure || Date.now() - started > START_MS) {
        child.kill('SIGKILL')
        const text = await readFile(join(folder, 'log'), 'utf8').catch(() => '')
        await rm(folder, { recursive: true, force: true })
        throw new Error(`the stand-in did not start: ${failure ?? 'no port'}\n${text}`)
      }
      await pause(5)
    }
  }

  /** Makes a world. The options are those of `POST /-/worlds`: from, name, seed, now, settings. */
  async world(options = {}) {
    return new World(this.url, await call('POST', `${this.url}/-/worlds`, options))
  }

  /** Ends the process, if this object started it, and removes its data. */
  async stop() {
    if (this.#process) {
      const ended = new Promise((resolve) => this.#process.once('exit', resolve))
      this.#process.kill()
      await ended
    }
    if (this.#folder) await rm(this.#folder, { recursive: true, force: true })
  }
}

/** A world. Its `baseUrl` and `token` are for the client under test. */
export class World {
  #serverUrl

  constructor(serverUrl, made) {
    this.#serverUrl = serverUrl
    this.id = made.id
    this.seed = made.seed
    this.url = made.auth_url
    this.baseUrl = made.base_url
    this.token = made.personal_access_token
    this.users = made.users ?? []
    this.workspaces = made.workspaces ?? []
    this.teams = made.teams ?? []
    this.apps = made.apps ?? []
    this.names = made.names ?? {}
    const control = (method, path, body) => this.control(method, path, body)
    this.clock = {
      /** The time that the world shows. */
      now: async () => new Date((await control('GET', 'clock')).now),
      /** Moves the clock by seconds, or by a period such as '25h'. Returns what happened on the way. */
      advance: (period) => control('POST', 'clock', { advance: period }),
      /** Moves the clock to a later time. */
      set: (when) => control('POST', 'clock', { set: when instanceof Date ? when.toISOString() : when }),
      run: () => control('POST', 'clock', { mode: 'running' }),
      freeze: () => control('POST', 'clock', { mode: 'frozen' }),
    }
    this.limits = {
      /** Uses up 'standard', 'search' or 'cost' of a token, by default that of the world. */
      exhaust: (limit = 'standard', token = this.token) => control('POST', 'limits', { token, exhaust: limit }),
    }
    this.faults = {
      /** Adds a fault: `world.faults.add({ error: 'internal' }, { operation: 'createTask', times: 1 })`. */
      add: (action, match = {}) => control('POST', 'faults', { match, do: action }),
      all: () => control('GET', 'faults'),
      release: (fault) => control('POST', `faults/${fault.id}/release`, {}),
      clear: () => control('DELETE', 'faults'),
    }
  }

  /** Sends a control request to this world. */
  control(method, path, body) {
    return call(method, `${this.url}/-/${path}`, body)
  }

  /** Sends a request to the API as the first user, and returns its data; for the arrangement of a test. */
  api(method, path, data) {
    return call(method, `${this.baseUrl}${path}`, data === undefined ? undefined : { data }, this.token)
  }

  /** Returns the requests that this world received and that match: operation, method, path, status. */
  requests(pattern = {}) {
    const query = Object.entries(pattern).map(([name, value]) => `${name}=${value}`)
    return this.control('GET', `requests?${query.join('&')}`)
  }

  /** Returns the requests to the API of this world with their replies, as an HTTP archive (HAR 1.2). */
  recording() {
    return ask('GET', `${this.url}/-/recording`)
  }

  /** Fails unless as many requests match as count, at_least or at_most say; at least one by default. */
  async verify(pattern) {
    const found = await this.control('POST', 'requests/verify', pattern)
    if (found.holds) return
    const near = found.near_misses.map((one) => `  ${one.method} ${one.path} (${one.operation}): ${one.status}`)
    throw new Error(`${found.count} requests match ${JSON.stringify(pattern)}; those that nearly do:\n${near.join('\n') || '  none'}`)
  }

  /**
   * Returns how the clients of this world did by rules, by default all: { rule: 'holds' | 'broken' | 'skipped' }. Fails if one is
   * broken, or one of `require` was not judged.
   */
  async grade({ rules = [], require = [] } = {}) {
    const shown = await this.control('GET', rules.length ? `grade?rules=${rules.join(',')}` : 'grade')
    const failed = shown.rules.filter((one) => one.verdict === 'broken' || (require.includes(one.rule) && one.verdict !== 'holds'))
    if (failed.length) throw new Error(`the client breaks rules:\n${failed.map((one) => `  ${one.rule}: ${one.verdict}: ${one.why}`).join('\n')}`)
    return Object.fromEntries(shown.rules.map((one) => [one.rule, one.verdict]))
  }

  /** Returns a receiver of webhooks. With `answer` it answers that status, `times` times or always. */
  async inbox(name, { answer, times } = {}) {
    if (answer !== undefined) await this.control('PUT', `inbox/${name}`, { answer, times })
    const deliveries = async () => (await this.control('GET', `inbox/${name}`)).deliveries
    return {
      url: `${this.url}/-/inbox/${name}`,
      deliveries,
      events: async () => (await deliveries()).filter((one) => one.answered < 300).flatMap((one) => one.events ?? []),
    }
  }

  /**
   * Lets `setTimeout` of at least `from` milliseconds move the clock of this world in place of waiting, until the returned function
   * is called; its property `slept` has the waits in milliseconds. Shorter timers, such as those of sockets, stay as they are.
   * With `vi` of vitest, whose fake timers are in use, their clock moves too.
   */
  bridgeTimers(vi, { from = 500 } = {}) {
    const { setTimeout: setBefore, clearTimeout: clearBefore } = globalThis
    const slept = []
    const ours = new WeakSet()
    const real = (...args) => {
      const handle = realSetTimeout(...args)
      ours.add(handle)
      return handle
    }
    globalThis.setTimeout = (task, ms = 0, ...args) => {
      // Timers of Node.js itself and of the test runner watch over real sockets and processes.
      const caller = new Error().stack.split('\n')[2] ?? ''
      if (OF_THE_RUNTIME.test(caller)) return real(task, ms, ...args)
      if (!(ms >= from)) return setBefore(task, ms, ...args)
      slept.push(ms)
      // Keeps the process alive, and is what the caller may clear.
      const handle = real(() => {}, 2 ** 31 - 1)
      const end = async () => {
        await vi?.advanceTimersByTimeAsync(ms)
        realClearTimeout(handle)
        if (ours.has(handle)) task(...args)
      }
      this.clock.advance(ms / 1000).then(end)
      return handle
    }
    globalThis.clearTimeout = (handle) => {
      if (ours.delete(handle)) realClearTimeout(handle)
      else clearBefore(handle)
    }
    const restore = () => Object.assign(globalThis, { setTimeout: setBefore, clearTimeout: clearBefore })
    restore.slept = slept
    return restore
  }

  /**
   * Returns tokens of an app for a user without a browser: the reply of the token endpoint. App and user are named as the world
   * shows them; by default the first ones.
   */
  grant({ app = this.apps[0]?.name, user, scopes, ...options } = {}) {
    return this.control('POST', 'oauth/grant', { app, user, scopes, ...options })
  }

  /** Decides for a user about the address to which an app sends the browser. Returns where the browser would be sent back to. */
  async authorize(url, { user, decision = 'allow' } = {}) {
    return (await this.control('POST', 'oauth/grant', { authorize: url, user, decision })).redirect
  }

  /** Lets the world begin again, with the same token. */
  async reset() {
    await this.control('POST', 'reset', {})
  }

  /** Returns what this world has now as a fixture: `standIn.world({ fixture })` makes an equal world. */
  fixture() {
    return this.control('GET', 'fixture')
  }

  /** Makes a world with everything that this one has now. */
  async copy(options = {}) {
    return new World(this.#serverUrl, await call('POST', `${this.#serverUrl}/-/worlds`, { ...options, from: this.id }))
  }

  /** Deletes the world with everything in it. */
  delete() {
    return call('DELETE', `${this.#serverUrl}/-/worlds/${this.id}`)
  }
}
