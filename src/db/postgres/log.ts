import { type FileHandle, open, readFile, rename, stat } from 'node:fs/promises';

/** What is needed of pino. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

const largestLog = 10 * 1024 * 1024;

/** Opens PostgreSQL's log for appending. One that has grown over 10 MiB is put aside, in place of the one put aside before. */
export async function openServerLog(path: string): Promise<FileHandle> {
  const size = await stat(path).then(
    (found) => found.size,
    () => 0,
  );
  if (size > largestLog) await rename(path, `${path}.1`);
  return open(path, 'a', 0o600);
}

/** The last lines of PostgreSQL's log, for the error of a start that failed. */
export async function lastLines(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.trimEnd().split('\n').slice(-5).join('\n');
}
