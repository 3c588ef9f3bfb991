import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { deflate } from 'node:zlib';
import { DomainError } from '../../../kernel/errors.ts';
import { syncDirectory } from '../durable-files.ts';
import { type GitProcesses, wallTime } from '../git-process.ts';
import type { ObjectFormat, ObjectType } from './object-id.ts';
import type { NewObject } from './object-writer.ts';

const compress = promisify(deflate);
const typeNumber: Record<ObjectType, number> = { commit: 1, tree: 2, blob: 3, tag: 4 };
/** Objects compressed at once. */
const step = 64;

/** Type and inflated size, seven bits to a byte after the first four (gitformat-pack). */
function entryHeader(type: ObjectType, size: number): Buffer {
  const bytes = [(typeNumber[type] << 4) | (size & 15)];
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80;
    bytes.push(rest & 0x7f);
  }
  return Buffer.from(bytes);
}

function packHeader(count: number): Buffer {
  const header = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1');
  header.writeUInt32BE(count, 8);
  return header;
}

/**
 * Stores many objects as one pack, which git checks, indexes and syncs: two files to make durable in place of thousands.
 *
 * @throws DomainError `repository_unavailable` when git does not take it
 */
export async function writePack(
  processes: GitProcesses,
  gitDir: string,
  format: ObjectFormat,
  objects: readonly NewObject[],
): Promise<void> {
  const child = await processes.start(['index-pack', '--stdin'], { gitDir, timeout: wallTime.merge });
  const hash = createHash(format);
  const send = async (bytes: Buffer) => {
    hash.update(bytes);
    if (child.streams.stdin.write(bytes)) return;
    // A process that ended never drains; its exit code gives the reason.
    const drained = once(child.streams.stdin, 'drain').catch(() => {});
    await Promise.race([drained, child.exited]);
  };
  await send(packHeader(objects.length));
  for (let at = 0; at < objects.length; at += step) {
    const some = objects.slice(at, at + step);
    const bodies = await Promise.all(some.map(({ content }) => compress(content, { level: 1 })));
    for (const [index, { type, content }] of some.entries()) {
      await send(Buffer.concat([entryHeader(type, content.length), bodies[index] ?? Buffer.alloc(0)]));
    }
  }
  child.streams.stdin.end(hash.digest());
  child.streams.stdout.resume();
  const { code, ended, stderr, over } = await child.exited;
  if (ended !== null) throw ended;
  if (over !== null) throw over;
  if (code !== 0)
    throw new DomainError('repository_unavailable', 'The files could not be stored', { cause: new Error(stderr) });
  await syncDirectory(join(gitDir, 'objects/pack'));
}
