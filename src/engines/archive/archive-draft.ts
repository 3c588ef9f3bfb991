import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import type { ArchiveDraft } from '../../domain/ports/archive.ts';
import { linesOf } from './files.ts';

/** The draft of an archive in a directory that is not yet where it will be. */
export function draftIn(directory: string, signal: AbortSignal): ArchiveDraft {
  return {
    async writeLines(name, lines) {
      const place = path.join(directory, name);
      await mkdir(path.dirname(place), { recursive: true });
      // Aside, because the lines may come from the file they replace.
      const written = await writeLines(`${place}.new`, lines, signal);
      await rename(`${place}.new`, place);
      return written;
    },
    lines: (name) => linesOf(path.join(directory, name)),
    async folder(name) {
      const place = path.join(directory, name);
      await mkdir(place, { recursive: true });
      return place;
    },
  };
}

async function writeLines(place: string, lines: AsyncIterable<string>, signal: AbortSignal): Promise<number> {
  const file = createWriteStream(place, { mode: 0o600, signal });
  // Looked at where it matters: the next write, and the end.
  const failed = once(file, 'error').then(([error]) => Promise.reject(error));
  failed.catch(() => {});
  let written = 0;
  try {
    for await (const line of lines) {
      signal.throwIfAborted();
      if (!file.write(`${line}\n`)) await Promise.race([once(file, 'drain'), failed]);
      written += 1;
    }
    file.end();
    await Promise.race([once(file, 'close'), failed]);
  } finally {
    file.destroy();
  }
  return written;
}
