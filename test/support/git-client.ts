import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Stock git that does not hold up this process, which may be its server; stdout and stderr. */
export async function client(cwd: string, ...args: string[]): Promise<string> {
  const person = ['-c', 'user.name=Client', '-c', 'user.email=client@example.org', '-c', 'commit.gpgsign=false'];
  const env = { PATH: process.env.PATH, HOME: cwd, LC_ALL: 'C', GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0' };
  const { stdout, stderr } = await run('git', [...person, ...args], { cwd, env });
  return stdout + stderr;
}
