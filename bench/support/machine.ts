import { execFile } from 'node:child_process';
import { availableParallelism, totalmem } from 'node:os';
import { promisify } from 'node:util';
import { findBinaries } from '../../src/db/postgres/binaries.ts';

const run = promisify(execFile);

async function versionOf(command: string, args: readonly string[]): Promise<string> {
  const text = await run(command, args).catch(() => ({ stdout: '' }));
  return /\d+(\.\d+)+/.exec(text.stdout)?.[0] ?? 'none';
}

/** The class of machine in one line: what figures depend on, and nothing that names the machine. */
export async function describeMachine(): Promise<string> {
  const binaries = await findBinaries().catch(() => null);
  const [git, postgres] = await Promise.all([
    versionOf('git', ['--version']),
    versionOf(binaries?.postgres ?? 'postgres', ['--version']),
  ]);
  const memory = Math.round(totalmem() / 2 ** 30);
  const parts = [`${availableParallelism()} cores`, `${memory} GiB`, `${process.platform} ${process.arch}`];
  return [...parts, `Node ${process.versions.node}`, `git ${git}`, `PostgreSQL ${postgres}`].join(', ');
}
