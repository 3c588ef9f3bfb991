/**
 * Loaded into a server that is measured (`--import`): keeps the longest time its main thread was on the processor between two turns of the
 * event loop, and answers with it on a port of its own. What other programs take of the machine is not in it.
 */
import { createServer } from 'node:http';

/** Milliseconds the main thread has been on the processor. */
function onProcessor(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

let last = onProcessor();
let longest = 0;
setInterval(() => {
  const now = onProcessor();
  longest = Math.max(longest, now - last);
  last = now;
}, 2).unref();

const server = createServer((_request, response) => {
  response.end(String(longest));
  longest = 0;
});
server.listen(Number(process.env.BENCH_HOLDS_PORT), '127.0.0.1').unref();
