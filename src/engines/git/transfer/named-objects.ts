import { type FileHandle, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { DomainError } from '../../../kernel/errors.ts';
import type { Oid } from '../../../ports/git-records.ts';
import type { ObjectPlace } from '../incoming/large-blobs.ts';
import type { Tip } from '../incoming/limits.ts';
import { isOid, type ObjectFormat, rawLength } from '../objects/object-id.ts';
import { nullIfAbsent } from '../refs/ref-files.ts';
import type { GitRepository } from '../repository.ts';
import { packetLine, packetsOf } from './push-answer.ts';

/** The lines of a fetch that bring objects to its client (gitprotocol-v2, "fetch"; gitprotocol-pack, "Packfile Negotiation"). */
const line = /^(want|shallow|deepen) (.*)/s;
/** A depth that ends. Beyond, git may read one without end. */
const someDepth = /^\d{1,9}\n?$/;

/**
 * Objects that a fetch is to bring: what it wants, and, when it wants histories whole, the parents of commits that its client has without them. git
 * reads ids in either case, and no further than they are long.
 */
async function wantsOf(repository: GitRepository, body: Readable, signal: AbortSignal): Promise<Set<Oid>> {
  const length = 2 * rawLength[await repository.objectFormat()];
  const wants = new Set<Oid>();
  const shallow = new Set<Oid>();
  let isWhole = false;
  for await (const packet of packetsOf(body)) {
    const [, key, value = ''] = line.exec(packet.toString('latin1', 4)) ?? [];
    const oid = value.slice(0, length).toLowerCase();
    if (key === 'deepen') isWhole ||= !someDepth.test(value);
    else if (isOid(oid)) (key === 'want' ? wants : shallow).add(oid);
  }
  for (const oid of isWhole ? shallow : []) {
    signal.throwIfAborted();
    for (const parent of await parentsOf(repository, oid)) wants.add(parent);
  }
  return wants;
}

async function parentsOf(repository: GitRepository, oid: Oid): Promise<readonly Oid[]> {
  try {
    return (await repository.commit(oid)).parents;
  } catch (error) {
    if (error instanceof DomainError && error.code === 'not_found') return [];
    throw error;
  }
}

/**
 * An object that a fetch is to bring and that only refs reach which its client is not shown; null: none. git looks at that in versions 0 and 1 of its
 * protocol alone. In version 2 it gives out all that is stored to clients that know its id, rescued commits too.
 */
export async function hiddenWant(repository: GitRepository, body: Readable, signal: AbortSignal): Promise<Oid | null> {
  return repository.hiddenAmong(() => wantsOf(repository, body, signal), signal);
}

/** The answer to a fetch of an object that is hidden, in git's own words. */
export const refusedWant = (oid: Oid): string => packetLine(`ERR upload-pack: not our ref ${oid}`);

/** Objects of one push that are looked up by their ids, and those of them that it may name without bringing them: a tree may hold as many. */
const most = { brought: 1_000_000, named: 300_000 };

/** How the index of a pack begins: magic and version, then how many ids begin with no more than each byte. */
const [beginning, fanout] = [Buffer.from([0xff, 0x74, 0x4f, 0x63, 0, 0, 0, 2]), 256 * 4];

/**
 * What the pack of a push holds, by its index (gitformat-pack, "Version 2 pack-*.idx files"). Where its client has sent deltas alone, git adds their
 * bases, which it has taken from the repository, at the end.
 */
class PackIndex {
  readonly bases: ReadonlySet<Oid>;
  readonly #length: number;
  readonly #counts: Buffer;
  readonly #ids: Buffer;

  private constructor(length: number, counts: Buffer, ids: Buffer, bases: ReadonlySet<Oid>) {
    this.bases = bases;
    this.#length = length;
    this.#counts = counts;
    this.#ids = ids;
  }

  /**
   * @param sent objects that its client has sent
   * @returns null when it holds too many objects
   */
  static async read(path: string, format: ObjectFormat, sent: number): Promise<PackIndex | null> {
    const file = await open(path);
    try {
      const head = await bytesAt(file, 0, beginning.length + fanout);
      if (!head.subarray(0, beginning.length).equals(beginning)) throw new Error(`${path} is no index of a pack`);
      const count = head.readUInt32BE(head.length - 4);
      if (count > most.brought || count - sent > most.named) return null;
      const length = rawLength[format];
      const ids = await bytesAt(file, head.length, count * length);
      const bases = new Set<Oid>();
      if (count > sent)
        for (const at of await behind(sent, file, { at: head.length + count * (length + 4), count }))
          bases.add(ids.toString('hex', at * length, (at + 1) * length));
      return new PackIndex(length, head.subarray(beginning.length), ids, bases);
    } finally {
      await file.close();
    }
  }

  /** Whether the client has sent an object. */
  brings(oid: Oid): boolean {
    return this.#has(oid) && !this.bases.has(oid);
  }

  #has(oid: Oid): boolean {
    const wanted = Buffer.from(oid, 'hex');
    const first = wanted[0] ?? 0;
    let low = first === 0 ? 0 : this.#counts.readUInt32BE(4 * (first - 1));
    let high = this.#counts.readUInt32BE(4 * first);
    while (low < high) {
      const middle = (low + high) >>> 1;
      const at = middle * this.#length;
      const order = this.#ids.compare(wanted, 0, wanted.length, at, at + this.#length);
      if (order === 0) return true;
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return false;
  }
}

/**
 * Which objects of an index stand behind the first so many of their pack, by its table of offsets. Those of 2 GiB and more are numbers above all others
 * there; what a client sends is never as long, so bases alone have them.
 */
async function behind(first: number, file: FileHandle, table: { at: number; count: number }): Promise<number[]> {
  const bytes = await bytesAt(file, table.at, 4 * table.count);
  const offsets = new Uint32Array(table.count);
  for (let at = 0; at < table.count; at++) offsets[at] = bytes.readUInt32BE(4 * at);
  const least = offsets.slice().sort()[first] ?? 0;
  const found: number[] = [];
  for (const [at, offset] of offsets.entries()) if (offset >= least) found.push(at);
  return found;
}

async function bytesAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  let at = 0;
  while (at < length) {
    const { bytesRead } = await file.read(bytes, at, length - at, position + at);
    if (bytesRead === 0) throw new Error('the index of a pack is too short');
    at += bytesRead;
  }
  return bytes;
}

/**
 * What a push leads to, or makes its own objects of, without bringing it. git takes whatever is stored: a ref at a commit of a deleted branch, a tree with
 * a file of one, a delta that copies it, by which clients could read what they are not shown.
 */
export class NamedObjects {
  /** What objects of the push are made of by deltas, and it does not bring. */
  readonly bases: readonly Oid[];
  readonly #brought: readonly PackIndex[];
  readonly #named = new Set<Oid>();
  #excess: string | null = null;

  private constructor(brought: readonly (PackIndex | null)[]) {
    this.#brought = brought.filter((pack) => pack !== null);
    this.bases = this.#brought.flatMap((pack) => [...pack.bases]);
    if (this.#brought.length < brought.length)
      this.#excess = `one push may bring ${most.brought} objects without manage_studio`;
  }

  /**
   * @param place of the push, with its quarantine
   * @param sent objects of its pack as the client has sent it
   */
  static async of({ env }: ObjectPlace, format: ObjectFormat, sent: number): Promise<NamedObjects> {
    if (env.GIT_OBJECT_DIRECTORY === undefined) return new NamedObjects([]);
    const packs = join(env.GIT_OBJECT_DIRECTORY, 'pack');
    // A push that brings no object has no pack.
    const names = (await readdir(packs).catch(nullIfAbsent)) ?? [];
    const indexes = names.filter((name) => name.endsWith('.idx'));
    return new NamedObjects(await Promise.all(indexes.map((name) => PackIndex.read(join(packs, name), format, sent))));
  }

  /** Takes note of an object that the push leads to, or of a base, that no visible ref had where it was looked for. */
  see(oid: Oid): void {
    if (this.#excess !== null || this.#brought.some((pack) => pack.brings(oid))) return;
    if (this.#named.size >= most.named) {
      this.#excess = `one push may lead to ${most.named} objects that it does not bring without manage_studio`;
      this.#named.clear();
    } else this.#named.add(oid);
  }

  /**
   * One of them that only refs reach which git clients are not shown; null: none. Of old objects that come again, which few clients leave out, refs can reach the rest.
   *
   * @param tips what the refs of the push are to lead to: such are found first
   * @throws DomainError `too_large` for more than can be looked at
   */
  async hidden(repository: GitRepository, tips: readonly Tip[], signal: AbortSignal): Promise<Oid | null> {
    if (this.#excess !== null) throw new DomainError('too_large', this.#excess);
    const named = tips.map(({ oid }) => oid).filter((oid) => this.#named.has(oid));
    for (const oids of [named, [...this.#named]]) {
      const hidden = oids.length === 0 ? null : await repository.hiddenAmong(() => oids, signal);
      if (hidden !== null) return hidden;
    }
    return null;
  }
}
