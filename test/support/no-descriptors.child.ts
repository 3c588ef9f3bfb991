/** Runs git without a file descriptor left, then again with some, and writes how both went. Run under a low limit (`ulimit -n`). */
import { closeSync, openSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { GitProcesses } from '../../src/engines/git/git-process.ts';

const processes = new GitProcesses(tmpdir());
const version = () =>
  processes.run(['version']).then(
    ({ code }) => `exit ${code}`,
    ({ code }) => code,
  );

const held: number[] = [];
try {
  for (;;) held.push(openSync('/dev/null', 'r'));
} catch {}
const without = await version();
for (const descriptor of held) closeSync(descriptor);
process.stdout.write(`${without}, ${await version()}`);
