// bottleneck: a limiter for each key, with a reservoir that is filled again each window; it queues, so it states no wait.
import Bottleneck from "bottleneck";
import { answer, done } from "./json_lines.mjs";

answer({ name: "bottleneck", has: ["quota", "weights", "permits"], wait: "none" }, ({ window_ms, quota, permits }) => {
  const options = {
    reservoir: quota, reservoirRefreshAmount: quota, reservoirRefreshInterval: window_ms, maxConcurrent: permits ?? null,
  };
  const limiters = new Map();
  const running = new Map();
  return {
    ticket: 0,
    async admit(key, weight) {
      const limiter = limiters.get(key) ?? new Bottleneck(options);
      limiters.set(key, limiter);
      if (!(await done(limiter.check(weight)))) return {};
      const ticket = ++this.ticket;
      const started = new Promise((start) => {
        const job = () => new Promise((finish) => { start(); running.set(ticket, finish); });
        const ended = limiter.schedule({ weight }, job);
        running.set(-ticket, ended);
      });
      await done(started);
      return null;
    },
    async finish(ticket) {
      running.get(ticket)();
      await done(running.get(-ticket));
      running.delete(ticket);
      running.delete(-ticket);
    },
  };
});
