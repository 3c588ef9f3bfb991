import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { rename, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { deflate, deflateSync } from 'node:zlib';
import { DomainError } from '../../../kernel/errors.ts';
import type { Oid } from '../../../ports/git-records.ts';
import { inDirectory, syncDirectories, syncDirectory, writeNewFile } from '../durable-files.ts';
import { type GitProcesses, wallTime } from '../git-process.ts';
import { type ObjectFormat, type ObjectType, objectHeader } from './object-id.ts';

export interface NewObject {
  oid: Oid;
  type: ObjectType;
  content: Buffer;
}

const compressAside = promisify(deflate);
/** The lightest compression: maintenance repacks everything anyway. */
const lightest = 1;
/** Up to so many bytes are compressed at once: a thread of the pool would cost more than it does. */
const quicklyDone = 32 * 1024;
/**
 * Trees above this are stored without compression, bytes. Half a tree is hashes: a directory of 10,000 files shrinks from 410 to 250 KB,
 * but compressing it takes half the time of a commit; maintenance deltas it later.
 */
const plainTree = 64 * 1024;

/**
 * Stores objects as loose files (gitformat-loose: zlib over header and content) and returns when all are durable: contents first, then
 * names, then directories, so that a crash leaves whole objects and `tmp_obj_*` leftovers that `git prune` removes.
 *
 * An object that is loose already is touched, which keeps it from being pruned. One that is only in a pack is written again: the pack
 * could be replaced by one without it while we rely on it, and maintenance drops the second copy.
 *
 * @param directory the repository's `objects`
 */
export async function writeObjects(directory: string, objects: Iterable<NewObject>): Promise<void> {
  const placed = await Promise.all(Array.from(objects, (object) => writeTemporary(directory, object)));
  const changed = new Set<string>();
  await Promise.all(
    placed.map(async ({ path, temporary, newDirectory }) => {
      if (temporary !== null) await rename(temporary, path);
      changed.add(dirname(path));
      if (newDirectory) changed.add(directory);
    }),
  );
  await syncDirectories(changed);
}

interface Placed {
  path: string;
  /** null when the object was there. */
  temporary: string | null;
  newDirectory: boolean;
}

async function writeTemporary(directory: string, { oid, type, content }: NewObject): Promise<Placed> {
  const path = join(directory, oid.slice(0, 2), oid.slice(2));
  if (await touch(path)) return { path, temporary: null, newDirectory: false };
  const temporary = join(dirname(path), `tmp_obj_${randomUUID()}`);
  const isPlain = type === 'tree' && content.length > plainTree;
  const whole = [objectHeader(type, content.length), content];
  const bytes = isPlain ? uncompressed(whole) : await compress(whole);
  const newDirectory = await inDirectory(dirname(path), () => writeNewFile(temporary, bytes, 0o444));
  return { path, temporary, newDirectory };
}

/** zlib's output for what these pieces make together. */
function compress(pieces: readonly Buffer[]): Buffer | Promise<Buffer> {
  const whole = Buffer.concat(pieces);
  // One chunk holds the output even of what does not shrink: chunks of zlib's own size would be made, and copied, for each 16 KiB.
  const chunkSize = Math.min(whole.length + (whole.length >>> 10) + 64, 1024 * 1024);
  const options = { level: lightest, chunkSize };
  return whole.length <= quicklyDone ? deflateSync(whole, options) : compressAside(whole, options);
}

/** Header of zlib's format: deflate with a window of 32 KiB, the fastest level (RFC 1950, 2.2). */
const zlibHeader = Buffer.of(0x78, 0x01);
/** Bytes a stored block holds at most (RFC 1951, 3.2.4). */
const storedBlock = 0xffff;

/**
 * The same without compression, as pieces that refer to the given ones: zlib would copy a tree of 400 KB three times, and so much memory
 * outside the heap makes V8 collect all garbage every ninth commit in place of every thirtieth.
 */
function uncompressed(pieces: readonly Buffer[]): Buffer[] {
  const output: Buffer[] = [zlibHeader];
  const last = pieces.length - 1;
  for (const [index, piece] of pieces.entries()) {
    for (let at = 0; at < piece.length; at += storedBlock) {
      const block = piece.subarray(at, at + storedBlock);
      const header = Buffer.alloc(5);
      header[0] = index === last && at + storedBlock >= piece.length ? 1 : 0;
      header.writeUInt16LE(block.length, 1);
      header.writeUInt16LE(block.length ^ 0xffff, 3);
      output.push(header, block);
    }
  }
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(adler32(pieces));
  output.push(checksum);
  return output;
}

/** The checksum of zlib's format (RFC 1950, 8.2). Between two divisions there are as many bytes as keep the sums exact. */
function adler32(pieces: readonly Buffer[]): number {
  let [sum, sumOfSums] = [1, 0];
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; ) {
      const end = Math.min(at + 5552, piece.length);
      for (; at < end; at += 1) {
        sum += piece[at] ?? 0;
        sumOfSums += sum;
      }
      sum %= 65_521;
      sumOfSums %= 65_521;
    }
  }
  return ((sumOfSums << 16) | sum) >>> 0;
}

async function touch(path: string): Promise<boolean> {
  // Most are new: to find that out by an error takes longer than to look.
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return false;
  const now = new Date();
  try {
    await utimes(path, now, now);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

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
    const bodies = await Promise.all(some.map(({ content }) => compressAside(content, { level: lightest })));
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
