import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createDeflate } from 'node:zlib';
import { DomainError } from '../../../kernel/errors.ts';
import type { StoredBlob } from '../../../ports/git-records.ts';
import type { Spooled } from '../../../ports/spool.ts';
import { inDirectory, syncDirectories } from '../durable-files.ts';
import { type ObjectFormat, objectHeader } from './object-id.ts';

/** Bytes of the beginning a caller gets back to detect the type. */
const headBytes = 4096;

/**
 * Stores one blob, holding a chunk of it at a time: git hashes the size before the content, so a stream is spooled first and read a second
 * time into a loose object (gitformat-loose); what is spooled already is read from there. Durable when it resolves.
 *
 * @param directory the repository's `objects`
 * @param limit most bytes
 * @throws DomainError `too_large`; nothing is left behind then
 */
export async function storeBlob(
  directory: string,
  format: ObjectFormat,
  content: AsyncIterable<Uint8Array> | Spooled,
  limit: number,
): Promise<StoredBlob> {
  const spool = join(directory, `tmp_obj_${randomUUID()}`);
  const packed = join(directory, `tmp_obj_${randomUUID()}`);
  try {
    const spooled = Symbol.asyncIterator in content ? await spoolTo(spool, content, limit) : content;
    if (spooled.size > limit) throw tooLarge(limit);
    const header = objectHeader('blob', spooled.size);
    const hash = createHash(format).update(header);
    const deflate = createDeflate({ level: 1 });
    deflate.write(header);
    const heads: Uint8Array[] = [];
    let read = 0;
    const hashing = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        if (read < headBytes) heads.push(chunk.subarray(0, headBytes - read));
        read += chunk.length;
        hash.update(chunk);
        done(null, chunk);
      },
    });
    const target = await open(packed, 'wx', 0o444);
    try {
      await pipeline(spooled.read(), hashing, deflate, async (source: AsyncIterable<Buffer>) => {
        // Unlike `write`, it does not resolve before every byte is written.
        for await (const chunk of source) await target.appendFile(chunk);
      });
      await target.sync();
    } finally {
      await target.close();
    }
    if (read !== spooled.size) throw new Error(`a blob of ${spooled.size} bytes was read as ${read}`);
    const oid = hash.digest('hex');
    const path = join(directory, oid.slice(0, 2), oid.slice(2));
    await inDirectory(dirname(path), () => rename(packed, path));
    await syncDirectories([dirname(path), directory]);
    return { oid, size: spooled.size, head: Buffer.concat(heads) };
  } finally {
    await rm(spool, { force: true });
    await rm(packed, { force: true });
  }
}

const tooLarge = (limit: number) => new DomainError('too_large', `The file is larger than ${limit} bytes`);

async function spoolTo(path: string, content: AsyncIterable<Uint8Array>, limit: number): Promise<Spooled> {
  const file = await open(path, 'wx', 0o600);
  let size = 0;
  try {
    for await (const chunk of content) {
      size += chunk.length;
      if (size > limit) throw tooLarge(limit);
      await file.appendFile(chunk);
    }
  } finally {
    await file.close();
  }
  return { size, read: () => createReadStream(path) };
}
