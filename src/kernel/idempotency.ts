import { createHash, randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { DomainError, fieldError } from './errors.ts';
import type { Idempotency, IdempotencyClaim, Ports } from './services.ts';
import { isAway } from './unavailable.ts';

/** The stored answer of a command that carried an idempotency key; kept 24 hours. */
export const IdempotencyKey = defineEntity({
  name: 'IdempotencyKey',
  tableName: 'idempotency_key',
  properties: {
    actor: p.text().primary(),
    operation: p.text().primary(),
    /** UUID of the project it acts in, else the id of the organisation, else empty: names can pass to others. */
    place: p.text().primary(),
    key: p.text().primary(),
    input_hash: p.text(),
    output: p.json<unknown>().nullable(),
    etag: p.text().nullable(),
    completed: p.boolean(),
    /** Names the call that has the key until it is completed. */
    claim: p.uuid().nullable(),
    created_at: p.datetime(3),
  },
});
export type IdempotencyKey = InferEntity<typeof IdempotencyKey>;

const day = 24 * 3600_000;
/** A command runs at most this long; an older claim without an answer belongs to a process that died. */
const lease = 150_000;

/** Pause between tries while the database is away, milliseconds. */
const pause = 1_000;

/** Writes at once, or in the background as soon as a database that is away has come back, as long as the key is held. */
async function writeAtLast(write: () => Promise<unknown>): Promise<void> {
  const until = performance.now() + lease;
  const isLeft = (error: unknown) => isAway(error) && performance.now() < until;
  const again = async (): Promise<void> => {
    await setTimeout(pause, null, { ref: false });
    await write().catch((error: unknown) => (isLeft(error) ? again() : undefined));
  };
  await write().catch((error: unknown) => {
    if (!isLeft(error)) throw error;
    void again();
  });
}

/** Idempotency keys as rows. */
export class IdempotencyKeys implements Idempotency {
  readonly #services: Pick<Ports, 'orm' | 'sharedClock'>;

  constructor(services: Pick<Ports, 'orm' | 'sharedClock'>) {
    this.#services = services;
  }

  async claim({ actor, operation, place, key, input }: Parameters<Idempotency['claim']>[0]): Promise<IdempotencyClaim> {
    if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
      throw fieldError('invalid_request', 'Idempotency-Key', 'must be 1 to 255 printable ASCII characters');
    }
    const em = this.#services.orm.em.fork();
    const now = await this.#services.sharedClock.now(em);
    const id = { actor, operation, place, key };
    const claim = randomUUID();
    const input_hash = createHash('sha256').update(JSON.stringify(input)).digest('hex');
    await em.nativeDelete(IdempotencyKey, {
      ...id,
      $or: [
        { created_at: { $lt: new Date(now.getTime() - day) } },
        { completed: false, created_at: { $lt: new Date(now.getTime() - lease) } },
      ],
    });
    // Another call's, once the lease is over and it has taken the key.
    const ours = { ...id, claim };
    const release = () => writeAtLast(() => em.nativeDelete(IdempotencyKey, { ...ours, completed: false }));
    const inserted = await em
      .createQueryBuilder(IdempotencyKey)
      .insert({ ...id, input_hash, output: null, etag: null, completed: false, claim, created_at: now })
      .onConflict(['actor', 'operation', 'place', 'key'])
      .ignore()
      .execute('run')
      .catch((error: unknown) => {
        // It may be done all the same, by a database that answers again.
        if (isAway(error)) void release().catch(() => {});
        throw error;
      });
    if (inserted.affectedRows === 0) {
      const stored = await em.findOne(IdempotencyKey, id);
      if (stored && stored.input_hash !== input_hash) {
        throw new DomainError('idempotency_mismatch', 'Idempotency-Key: was used for another request; use a new key');
      }
      if (!stored?.completed)
        throw new DomainError('busy', 'Idempotency-Key: the first request with this key is still running');
      return {
        replay: { output: stored.output, etag: stored.etag ?? null },
        complete: async () => {},
        release: async () => {},
      };
    }
    return {
      replay: null,
      complete: async ({ output, etag }, within) => {
        const write = () =>
          (within ?? em).nativeUpdate(IdempotencyKey, ours, { output, etag: etag ?? null, completed: true });
        await (within ? write() : writeAtLast(write));
      },
      release,
    };
  }
}
