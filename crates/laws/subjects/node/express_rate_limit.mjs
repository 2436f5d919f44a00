// express-rate-limit: the middleware with its store in memory and the headers of its newest draft; the wait is in `Retry-After`.
import { rateLimit } from "express-rate-limit";
import { answer } from "./json_lines.mjs";

answer({ name: "express-rate-limit", has: ["quota"], wait: "s" }, ({ window_ms, quota }) => {
  const middleware = rateLimit({
    windowMs: window_ms, limit: quota, standardHeaders: "draft-8", keyGenerator: (request) => request.key, validate: false,
  });
  return {
    admit: (key) => new Promise((resolve, reject) => {
      const headers = {};
      const response = {
        headersSent: false,
        append(name, value) { headers[name.toLowerCase()] = value; },
        setHeader(name, value) { headers[name.toLowerCase()] = value; },
        status() { return response; },
        send() { resolve({ retry_after: Number(headers["retry-after"]) }); },
      };
      const next = (error) => (error ? reject(error) : resolve(null));
      middleware({ key, app: { get: () => false }, headers: {} }, response, next).catch(reject);
    }),
  };
});
