/**
 * Cleans up after a run of the tests, however that ended: waits for the end of its input, which the process that runs them holds open, ends
 * what still works in the run's directory, writes a line for each, and removes it. Argument: the name of the directory below the temporary
 * one, so that this process itself does not bear its path.
 */
import { readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const root = path.join(tmpdir(), process.argv[2] ?? '');

/** Processes that were started with the directory among their arguments or in their environment; all of them, or without Vitest's own. */
async function processesThere(besideVitest: boolean): Promise<{ pid: number; line: string }[]> {
  const found: { pid: number; line: string }[] = [];
  const names = await readdir('/proc').catch(() => []);
  for (const pid of names.filter((name) => /^\d+$/.test(name)).map(Number)) {
    const read = (file: string) => readFile(`/proc/${pid}/${file}`, 'latin1').catch(() => '');
    const line = (await read('cmdline')).replaceAll('\0', ' ');
    if (line === '' || (besideVitest && line.includes('vitest'))) continue;
    if ((line + (await read('environ'))).includes(root)) found.push({ pid, line });
  }
  return found;
}

// A terminal's Ctrl-C is for the tests.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => {});
let said = '';
for await (const text of process.stdin) said += text;
/** A run that ends in order ends its own processes. */
const inOrder = said === 'done';

// What is ended may have just started another one.
for (let left = await processesThere(inOrder); left.length > 0; left = await processesThere(inOrder)) {
  for (const { pid, line } of left) {
    console.log(`left running: ${line.slice(0, 200)}`);
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
  await sleep(200);
}
await rm(root, { recursive: true, force: true, maxRetries: 10 });
