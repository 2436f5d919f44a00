// `test` of vitest with the fixture `world`: a world of its own for each test. That of a failed test is kept while the stand-in runs.
import { inject, test as base } from 'vitest'
import { StandIn } from './index.js'

export const test = base.extend({
  // Without the global setup each worker has a stand-in of its own.
  standIn: [
    async ({}, use) => {
      const url = inject('workgraphStandIn') ?? process.env.WORKGRAPH_STAND_IN_URL
      const standIn = url ? new StandIn(url) : await StandIn.start()
      await use(standIn)
      await standIn.stop()
    },
    { scope: 'worker' },
  ],
  world: async ({ standIn, task, onTestFailed }, use) => {
    const world = await standIn.world({ name: task.name })
    let hasFailed = false
    onTestFailed(() => {
      hasFailed = true
      console.error(`the world of this test is kept: ${world.url}/-/stand-in (seed ${world.seed})`)
    })
    await use(world)
    if (!hasFailed) await world.delete()
  },
})
