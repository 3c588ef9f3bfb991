import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';

/** Types of the objects of a pack (gitformat-pack). */
const types = { commit: 1, tree: 2, blob: 3, tag: 4 } as const;
type Type = keyof typeof types;

/** An object of a pack as its bytes; a delta names its base by how many entries it stands before. */
type Entry = { type: Type; content: Buffer } | { base: number; delta: Buffer };

export const oidOf = (type: Type, content: Buffer): string =>
  createHash('sha1').update(`${type} ${content.length}\0`).update(content).digest('hex');

/** Seven bits to a byte, the low ones first; the first byte of an entry holds a type and four bits. */
function varint(value: number, first: { type: number } | null): Buffer {
  const bytes: number[] = [];
  let rest = value;
  if (first) {
    bytes.push((first.type << 4) | (rest & 15));
    rest = Math.floor(rest / 16);
  } else {
    bytes.push(rest & 127);
    rest = Math.floor(rest / 128);
  }
  for (; rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80;
    bytes.push(rest & 127);
  }
  return Buffer.from(bytes);
}

/** The distance back to a base, "offset encoding". */
function distance(value: number): Buffer {
  const bytes = [value & 127];
  for (let rest = value >> 7; rest > 0; rest >>= 7) bytes.unshift(0x80 | (--rest & 127));
  return Buffer.from(bytes);
}

/** A delta that repeats the first `size` bytes of its base so many times: seven bytes for up to 16 MiB. */
export function repeat(base: number, size: number, times: number): Buffer {
  const copy = Buffer.from([0xf0, size & 255, (size >> 8) & 255, (size >> 16) & 255]);
  return Buffer.concat([varint(base, null), varint(size * times, null), ...Array<Buffer>(times).fill(copy)]);
}

/** A delta that copies its base and adds some bytes to it. */
export function append(base: number, bytes: Buffer): Buffer {
  const copies: Buffer[] = [];
  for (let at = 0; at < base; at += 0xffffff) {
    const copy = Buffer.alloc(8, 0xff);
    copy.writeUInt32LE(at, 1);
    copy.writeUIntLE(Math.min(0xffffff, base - at), 5, 3);
    copies.push(copy);
  }
  const added = Buffer.from([bytes.length, ...bytes]);
  return Buffer.concat([varint(base, null), varint(base + bytes.length, null), ...copies, added]);
}

/** A pack of these entries. @param count what the header says there are, when that is a lie; `level` of zlib */
export function pack(entries: readonly Entry[], { count = entries.length, level = 6 } = {}): Buffer {
  const header = Buffer.alloc(12);
  header.write('PACK');
  header.writeUInt32BE(2, 4);
  header.writeUInt32BE(count, 8);
  const parts: Buffer[] = [header];
  const offsets: number[] = [];
  let offset = header.length;
  for (const [at, entry] of entries.entries()) {
    offsets.push(offset);
    const bytes =
      'type' in entry
        ? [varint(entry.content.length, { type: types[entry.type] }), deflateSync(entry.content, { level })]
        : [
            varint(entry.delta.length, { type: 6 }),
            distance(offset - (offsets[at - entry.base] ?? 0)),
            deflateSync(entry.delta),
          ];
    for (const part of bytes) {
      parts.push(part);
      offset += part.length;
    }
  }
  const body = Buffer.concat(parts);
  return Buffer.concat([body, createHash('sha1').update(body).digest()]);
}

const emptyTree = Buffer.alloc(0);

/** A commit of a tree, the empty one by default. */
export function commitOf(tree = oidOf('tree', emptyTree)): { type: 'commit'; content: Buffer } {
  const person = 'Mallory <mallory@example.org> 1700000000 +0000';
  const content = Buffer.from(`tree ${tree}\nauthor ${person}\ncommitter ${person}\n\nHostile\n`);
  return { type: 'commit', content };
}

/** A tree of files, names sorted already. */
export function treeOf(files: Record<string, string>): { type: 'tree'; content: Buffer } {
  const entries = Object.entries(files).flatMap(([name, oid]) => [
    Buffer.from(`100644 ${name}\0`),
    Buffer.from(oid, 'hex'),
  ]);
  return { type: 'tree', content: Buffer.concat(entries) };
}

export const emptyTreeEntry = { type: 'tree', content: emptyTree } as const;

const line = (text: string) => (Buffer.byteLength(text) + 4).toString(16).padStart(4, '0') + text;

/** The body of a `git-receive-pack` request that makes refs, all of the same object. */
export function pushOf(oid: string, refs: readonly string[], body: Buffer): Buffer {
  const zero = '0'.repeat(40);
  const capabilities = '\0report-status side-band-64k ofs-delta';
  const commands = refs.map((ref, at) => line(`${zero} ${oid} ${ref}${at === 0 ? capabilities : ''}`));
  return Buffer.concat([Buffer.from(`${commands.join('')}0000`), body]);
}
