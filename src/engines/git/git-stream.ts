import { DomainError } from '../../kernel/errors.ts';
import type { SpawnOptions } from './git-child.ts';
import type { GitProcesses } from './git-process.ts';

/**
 * Output of a command as it arrives. A consumer that stops early ends the process, so output without end costs nothing beyond what is
 * taken of it.
 *
 * @param options `input` for stdin; `what` could not be read when git fails
 * @throws DomainError `repository_unavailable` after the last piece when git ended with an error, `git_timeout`, `too_large`
 */
export async function* gitStream(
  processes: GitProcesses,
  args: readonly string[],
  { input = '', what, ...options }: SpawnOptions & { input?: string; what: string },
): AsyncGenerator<Buffer> {
  const child = await processes.start(args, options);
  child.streams.stdin.end(input);
  try {
    yield* child.streams.stdout;
    const { code, ended, over, stderr } = await child.exited;
    if (ended !== null) throw ended;
    if (over !== null) throw over;
    if (code !== 0)
      throw new DomainError('repository_unavailable', `${what} could not be read`, { cause: new Error(stderr) });
  } finally {
    child.kill(null);
  }
}

/** Splits git's output with `-z` into its records; each step yields those completed by one chunk of the stream. */
export async function* records(stream: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  const open: Buffer[] = [];
  for await (const chunk of stream) {
    const end = chunk.lastIndexOf(0);
    if (end === -1) {
      open.push(chunk);
      continue;
    }
    const whole = chunk.subarray(0, end);
    const text = open.length === 0 ? whole : Buffer.concat([...open.splice(0), whole]);
    yield text.toString('utf8').split('\0');
    if (end + 1 < chunk.length) open.push(chunk.subarray(end + 1));
  }
  if (open.length > 0) yield [Buffer.concat(open).toString('utf8')];
}
