import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { vi } from 'vitest';

interface Made<T> {
  /** Where it was made; gone after the run. */
  directory: string;
  value: T;
}

type Outcome<T> = { value: T } | { error: string };

/**
 * Makes what is dear once for all test files of a run; requests in the meantime wait for it.
 * @param make is given a directory of its own; what it answers must fit into JSON
 * @throws Error when it could not be made, for every caller
 */
export async function oncePerRun<T>(name: string, make: (directory: string) => Promise<T>): Promise<Made<T>> {
  const directory = path.join(tmpdir(), `made-${name}`);
  const file = `${directory}.json`;
  const isFirst = await mkdir(directory).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false;
      throw error;
    },
  );
  if (isFirst) {
    const outcome: Outcome<T> = await make(directory).then(
      (value) => ({ value }),
      (error: Error) => ({ error: error.message }),
    );
    // Another process reads it whole or not at all.
    await writeFile(`${file}.draft`, JSON.stringify(outcome));
    await rename(`${file}.draft`, file);
  }
  const text = await vi.waitFor(() => readFile(file, 'utf8'), { timeout: 150_000 });
  const outcome = JSON.parse(text) as Outcome<T>;
  if ('error' in outcome) throw new Error(`${name}: ${outcome.error}`);
  return { directory, value: outcome.value };
}
