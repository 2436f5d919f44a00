// A global setup of vitest: one stand-in serves the tests of all workers, and ends with the run.
import { StandIn } from './index.js'

export default async function setup({ provide }) {
  if (process.env.WORKGRAPH_STAND_IN_URL) return
  const standIn = await StandIn.start()
  provide('workgraphStandIn', standIn.url)
  // The first world takes as long as fifty others, so it is made while the workers start. If it fails, a test says why.
  const first = standIn.world().then((world) => world.delete())
  first.catch(() => {})
  return () => standIn.stop()
}
