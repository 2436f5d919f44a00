// The protocol of `workgraph laws limiter`, with a time and timers that the run sets.
import { createInterface } from "node:readline";
import FakeTimers from "@sinonjs/fake-timers";

const toFake = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"];
let clock = FakeTimers.install({ toFake });

/** Waits for a promise of a library that uses timers of no length. */
export async function done(promise) {
  let settled = false;
  const settle = () => { settled = true; };
  promise.then(settle, settle);
  while (!settled) {
    await new Promise((resolve) => setImmediate(resolve));
    if (!settled) clock.tick(0);
  }
  return promise;
}

/** `make(setup)` makes a limiter: an object with `admit(key, weight)`, which gives null or the fields that state the wait. */
export async function answer(hello, make) {
  console.log(JSON.stringify(hello));
  let limiter = null;
  for await (const line of createInterface({ input: process.stdin })) {
    const op = JSON.parse(line);
    let reply = {};
    if (op.op === "stop") process.exit(0);
    if (op.op === "new") {
      clock.uninstall();
      clock = FakeTimers.install({ now: op.now, toFake });
      limiter = make(op);
    }
    if (op.op === "admit") {
      clock.tick(op.now - Date.now());
      const refused = await limiter.admit(op.key, op.weight);
      reply = refused === null ? { admitted: true } : { admitted: false, ...refused };
      if (refused === null && limiter.ticket !== undefined) reply.ticket = limiter.ticket;
    }
    if (op.op === "finish") await limiter.finish?.(op.ticket);
    console.log(JSON.stringify(reply));
  }
}
