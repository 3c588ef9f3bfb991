import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';

const person = { name: 'Bench', email: 'bench@localhost' };

interface Options {
  input?: Buffer;
  /** File of the index. */
  index?: string;
  /** Where a working tree lies; default: there is none. */
  workTree?: string;
  /** Status to be taken for success beside 0. */
  accept?: number;
}

/** Settings of no machine or user, and everything synced, as ours is. */
const environment = (home: string) => ({
  PATH: process.env.PATH,
  HOME: home,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: person.name,
  GIT_AUTHOR_EMAIL: person.email,
  GIT_COMMITTER_NAME: person.name,
  GIT_COMMITTER_EMAIL: person.email,
});

/** Runs stock git without any configuration of the machine, every write synced. @returns stdout */
export function runGit(gitDir: string, args: readonly string[], options: Options = {}): Promise<Buffer> {
  const { input, index, workTree, accept = 0 } = options;
  return new Promise((resolve, reject) => {
    const place = [`--git-dir=${gitDir}`, ...(workTree === undefined ? [] : [`--work-tree=${workTree}`])];
    const child = spawn('git', ['-c', 'core.fsync=all', ...place, ...args], {
      env: { ...environment(gitDir), ...(index !== undefined && { GIT_INDEX_FILE: index }) },
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(workTree !== undefined && { cwd: workTree }),
    });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0 || code === accept) resolve(Buffer.concat(out));
      else reject(new Error(`git ${args[0]} ended with ${code}: ${Buffer.concat(err)}`));
    });
    // A command that takes no input may be gone before its input is closed.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

/** What git prints, as text without the last newline. */
export const gitLine = async (gitDir: string, args: readonly string[], options: Options = {}): Promise<string> =>
  (await runGit(gitDir, args, options)).toString('utf8').trimEnd();

/** The commit or, with `^{tree}` and the like behind it, the object a name stands for. */
export const oidAt = (gitDir: string, name: string): Promise<string> => gitLine(gitDir, ['rev-parse', name]);

export const countCommits = async (gitDir: string, branch = 'main'): Promise<number> =>
  Number(await gitLine(gitDir, ['rev-list', '--count', `refs/heads/${branch}`]));

/** The object id of a file's content. */
export const blobOid = (content: Buffer): string =>
  createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex');

/** Object id of every file of a commit, by path. */
export async function listFiles(gitDir: string, commit: string): Promise<Map<string, string>> {
  const text = (await runGit(gitDir, ['ls-tree', '-r', '-z', commit])).toString('utf8');
  const lines = text.split('\0').filter((line) => line !== '');
  return new Map(lines.map((line) => [line.slice(line.indexOf('\t') + 1), line.split(/[ \t]/, 3)[2] ?? '']));
}
