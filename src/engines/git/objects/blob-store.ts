import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createDeflate } from 'node:zlib';
import { DomainError } from '../../../domain/errors.ts';
import type { StoredBlob } from '../../../domain/ports/git-records.ts';
import { inDirectory, syncDirectories } from '../durable-files.ts';
import { type ObjectFormat, objectHeader } from './object-id.ts';

/** How much of the beginning a caller gets back to tell the type by, bytes. */
const headBytes = 4096;

/**
 * Stores one blob from a stream, holding a chunk of it at a time: git hashes the size before the content, so the content is spooled first and
 * read a second time into a loose object (gitformat-loose). Durable when it resolves.
 *
 * @param directory the repository's `objects`
 * @param limit most bytes
 * @throws DomainError `too_large`; nothing is left behind then
 */
export async function storeBlob(
  directory: string,
  format: ObjectFormat,
  content: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<StoredBlob> {
  const spool = join(directory, `tmp_obj_${randomUUID()}`);
  const packed = join(directory, `tmp_obj_${randomUUID()}`);
  try {
    const { size, head } = await spoolTo(spool, content, limit);
    const hash = createHash(format).update(objectHeader('blob', size));
    const deflate = createDeflate({ level: 1 });
    deflate.write(objectHeader('blob', size));
    const hashing = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        hash.update(chunk);
        done(null, chunk);
      },
    });
    const target = await open(packed, 'wx', 0o444);
    try {
      await pipeline(createReadStream(spool), hashing, deflate, async (source: AsyncIterable<Buffer>) => {
        for await (const chunk of source) await target.write(chunk);
      });
      await target.sync();
    } finally {
      await target.close();
    }
    const oid = hash.digest('hex');
    const path = join(directory, oid.slice(0, 2), oid.slice(2));
    await inDirectory(dirname(path), () => rename(packed, path));
    await syncDirectories([dirname(path), directory]);
    return { oid, size, head };
  } finally {
    await rm(spool, { force: true });
    await rm(packed, { force: true });
  }
}

async function spoolTo(path: string, content: AsyncIterable<Uint8Array>, limit: number) {
  const file = await open(path, 'wx', 0o600);
  const heads: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of content) {
      if (size < headBytes) heads.push(chunk.subarray(0, headBytes - size));
      size += chunk.length;
      if (size > limit) throw new DomainError('too_large', `The file is larger than ${limit} bytes`);
      await file.write(chunk);
    }
  } finally {
    await file.close();
  }
  return { size, head: Buffer.concat(heads) };
}
