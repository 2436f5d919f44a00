// rate-limiter-flexible: its limiter in memory.
import { RateLimiterMemory } from "rate-limiter-flexible";
import { answer } from "./json_lines.mjs";

answer({ name: "rate-limiter-flexible", has: ["quota", "weights"] }, ({ window_ms, quota }) => {
  const limiter = new RateLimiterMemory({ points: quota, duration: window_ms / 1000 });
  return {
    async admit(key, weight) {
      try {
        await limiter.consume(key, weight);
        return null;
      } catch (refused) {
        if (refused instanceof Error) throw refused;
        return { wait_ms: refused.msBeforeNext };
      }
    },
  };
});
