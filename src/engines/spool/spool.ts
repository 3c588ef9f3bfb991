import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { DomainError } from '../../kernel/errors.ts';
import type { Spool, Spools } from '../../ports/spool.ts';

/** Bytes read at once. */
const portion = 64 * 1024;

/**
 * Spools as files in a directory of their own. A file loses its name as soon as it is open (POSIX `unlink`), so that the system frees its space
 * however the process ends.
 */
export function createSpools(directory: string): Spools {
  let prepared: Promise<void> | null = null;
  let held = 0;

  /** A process that died between making a file and taking its name left an empty one. To one that is alive the name means nothing. */
  async function prepare(): Promise<void> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    for (const name of await readdir(directory)) await rm(path.join(directory, name), { force: true });
  }

  async function nameless(): Promise<FileHandle> {
    prepared ??= prepare();
    await prepared.catch((error: unknown) => {
      prepared = null;
      throw error;
    });
    const place = path.join(directory, randomUUID());
    const file = await open(place, 'wx+', 0o600);
    try {
      await rm(place, { force: true });
    } catch (error) {
      await file.close();
      throw error;
    }
    held += 1;
    return file;
  }

  function openSpool(): Spool {
    let file: FileHandle | null = null;
    let end = 0;
    let closed = false;
    return {
      async add(content, limit) {
        if (closed) throw new Error('the spool is closed');
        file ??= await nameless();
        const from = file;
        const start = end;
        for await (const chunk of content) {
          if (end - start + chunk.length > limit)
            throw new DomainError('too_large', `The file is larger than ${limit} bytes`);
          // Unlike `write`, it does not resolve before every byte is written.
          await from.appendFile(chunk);
          end += chunk.length;
        }
        const size = end - start;
        return {
          size,
          // Not a stream of the handle: each adds a listener to it for as long as it is open.
          async *read() {
            for (let at = 0; at < size; ) {
              const buffer = Buffer.allocUnsafe(Math.min(portion, size - at));
              const { bytesRead } = await from.read(buffer, 0, buffer.length, start + at);
              if (bytesRead === 0) throw new Error('the spool ends before its content does');
              at += bytesRead;
              yield buffer.subarray(0, bytesRead);
            }
          },
        };
      },
      async close() {
        closed = true;
        const open = file;
        file = null;
        if (open === null) return;
        await open.close();
        held -= 1;
      },
    };
  }

  return {
    open: openSpool,
    get held() {
      return held;
    },
  };
}
