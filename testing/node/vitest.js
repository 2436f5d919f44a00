// `test` of vitest with the fixture `world`: a world of its own for each test. That of a failed test is kept until the run ends.
import { test as base } from 'vitest'
import { StandIn } from './index.js'

let standIn
const server = () => {
  const url = process.env.WORKGRAPH_STAND_IN_URL
  standIn ??= url ? Promise.resolve(new StandIn(url)) : StandIn.start()
  return standIn
}

process.once('beforeExit', async () => (await standIn)?.stop())

export const test = base.extend({
  world: async ({ task, onTestFailed }, use) => {
    const world = await (await server()).world({ name: task.name })
    let hasFailed = false
    onTestFailed(() => {
      hasFailed = true
      console.error(`the world of this test is kept: ${world.url}/-/stand-in (seed ${world.seed})`)
    })
    await use(world)
    if (!hasFailed) await world.delete()
  },
})

/** Ends the stand-in of this process; for a global teardown. */
export async function stop() {
  await (await standIn)?.stop()
  standIn = undefined
}
