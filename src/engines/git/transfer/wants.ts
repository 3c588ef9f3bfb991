import type { Readable } from 'node:stream';
import { DomainError } from '../../../kernel/errors.ts';
import type { Oid } from '../../../ports/git-records.ts';
import { isOid, rawLength } from '../objects/object-id.ts';
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
