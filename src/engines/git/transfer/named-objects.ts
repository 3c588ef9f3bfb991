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
async function wantsOf(repository: GitRepository, body: Readable): Promise<Set<Oid>> {
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
  for (const oid of isWhole ? shallow : []) for (const parent of await parentsOf(repository, oid)) wants.add(parent);
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
 * An object that a fetch is to bring and that no visible ref reaches; null: none. git looks for that in versions 0 and 1 of its protocol alone. In
 * version 2 it gives out all that is stored to clients that know its id: rescued commits, deleted branches, history that was rewritten.
 */
export async function hiddenWant(repository: GitRepository, body: Readable, signal: AbortSignal): Promise<Oid | null> {
  return repository.hiddenAmong(await wantsOf(repository, body), signal);
}

/** The answer to a fetch of an object that is hidden, in git's own words. */
export const refusedWant = (oid: Oid): string => packetLine(`ERR upload-pack: not our ref ${oid}`);

/** Objects of one push that are looked up by their ids, and those of them that it may name without bringing them: a tree may hold as many. */
const most = { brought: 2_000_000, named: 300_000 };

/** How the index of a pack begins: magic and version, then how many ids begin with no more than each byte. */
const [beginning, fanout] = [Buffer.from([0xff, 0x74, 0x4f, 0x63, 0, 0, 0, 2]), 256 * 4];

/** What a pack holds, by its index (gitformat-pack, "Version 2 pack-*.idx files"). */
class PackIndex {
  readonly #length: number;
  readonly #counts: Buffer;
  readonly #ids: Buffer;

  private constructor(length: number, counts: Buffer, ids: Buffer) {
    this.#length = length;
    this.#counts = counts;
    this.#ids = ids;
  }

  /** @returns null when it holds too many objects */
  static async read(path: string, format: ObjectFormat): Promise<PackIndex | null> {
    const file = await open(path);
    try {
      const head = await bytesAt(file, 0, beginning.length + fanout);
      if (!head.subarray(0, beginning.length).equals(beginning)) throw new Error(`${path} is no index of a pack`);
      const count = head.readUInt32BE(head.length - 4);
      if (count > most.brought) return null;
      const length = rawLength[format];
      return new PackIndex(length, head.subarray(beginning.length), await bytesAt(file, head.length, count * length));
    } finally {
      await file.close();
    }
  }

  has(oid: Oid): boolean {
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
 * What a push leads to without bringing it. git takes whatever is stored: a ref at a commit of a deleted branch, a tree with a file of one, by which
 * clients could read what they are not shown.
 */
export class NamedObjects {
  readonly #brought: readonly PackIndex[];
  readonly #named = new Set<Oid>();
  #excess: string | null = null;

  private constructor(brought: readonly (PackIndex | null)[]) {
    this.#brought = brought.filter((pack) => pack !== null);
    if (this.#brought.length < brought.length)
      this.#excess = `one push may bring ${most.brought} objects without manage_studio`;
  }

  /** @param place of the push, with its quarantine */
  static async of({ env }: ObjectPlace, format: ObjectFormat): Promise<NamedObjects> {
    if (env.GIT_OBJECT_DIRECTORY === undefined) return new NamedObjects([]);
    const packs = join(env.GIT_OBJECT_DIRECTORY, 'pack');
    // A push that brings no object has no pack.
    const names = (await readdir(packs).catch(nullIfAbsent)) ?? [];
    const indexes = names.filter((name) => name.endsWith('.idx'));
    return new NamedObjects(await Promise.all(indexes.map((name) => PackIndex.read(join(packs, name), format))));
  }

  /** Takes note of an object that the push leads to and that no visible ref had where it was looked for. */
  see(oid: Oid): void {
    if (this.#excess !== null || this.#brought.some((pack) => pack.has(oid))) return;
    if (this.#named.size >= most.named) {
      this.#excess = `one push may lead to ${most.named} objects that it does not bring without manage_studio`;
      this.#named.clear();
    } else this.#named.add(oid);
  }

  /**
   * One of them that no visible ref reaches; null: none. Of old objects that come again, which few clients leave out, refs can reach the rest.
   *
   * @param tips what the refs of the push are to lead to: such are found first
   * @throws DomainError `too_large` for more than can be looked at
   */
  async hidden(repository: GitRepository, tips: readonly Tip[], signal: AbortSignal): Promise<Oid | null> {
    if (this.#excess !== null) throw new DomainError('too_large', this.#excess);
    const named = tips.map(({ oid }) => oid).filter((oid) => this.#named.has(oid));
    for (const oids of [named, [...this.#named]]) {
      const hidden = oids.length === 0 ? null : await repository.hiddenAmong(oids, signal);
      if (hidden !== null) return hidden;
    }
    return null;
  }
}
