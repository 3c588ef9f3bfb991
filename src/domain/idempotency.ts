import { createHash, randomUUID } from 'node:crypto';
import { DomainError, fieldError } from './errors.ts';
import { IdempotencyKey } from './idempotency.entity.ts';
import type { Actor } from './identity/actor.ts';
import type { Call } from './operation.ts';

/** Our hold on a key: either an earlier answer to repeat, or the duty to store ours. */
export interface IdempotencyClaim {
  replay: { output: unknown } | null;
  complete(answer: { output: unknown; etag: string | undefined }): Promise<void>;
  /** After a refusal or a fault: the key is free again. */
  release(): Promise<void>;
}

const day = 24 * 3600_000;
/** A command runs at most this long; an older claim without an answer belongs to a process that died. */
const lease = 150_000;

/**
 * Claims the caller's idempotency key for one command.
 * @returns null when no key was given.
 * @throws DomainError `idempotency_mismatch` when the key was used for another input, `busy` while the first call still runs.
 */
export async function claimIdempotency(
  call: Call,
  actor: Actor | null,
  operation: string,
  input: unknown,
): Promise<IdempotencyClaim | null> {
  const key = call.conditions.idempotency_key;
  if (key === undefined || !actor) return null;
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw fieldError('invalid_request', 'Idempotency-Key', 'must be 1 to 255 printable ASCII characters');
  }
  const em = call.services.orm.em.fork();
  const now = await call.services.sharedClock.now(em);
  const id = { actor: actor.id, operation, key };
  const claim = randomUUID();
  const input_hash = createHash('sha256').update(JSON.stringify(input)).digest('hex');
  await em.nativeDelete(IdempotencyKey, {
    ...id,
    $or: [
      { created_at: { $lt: new Date(now.getTime() - day) } },
      { completed: false, created_at: { $lt: new Date(now.getTime() - lease) } },
    ],
  });
  const inserted = await em
    .createQueryBuilder(IdempotencyKey)
    .insert({ ...id, input_hash, output: null, etag: null, completed: false, claim, created_at: now })
    .onConflict(['actor', 'operation', 'key'])
    .ignore()
    .execute('run');
  if (inserted.affectedRows === 0) {
    const stored = await em.findOne(IdempotencyKey, id);
    if (stored && stored.input_hash !== input_hash) {
      throw new DomainError('idempotency_mismatch', 'Idempotency-Key: was used for another request; use a new key');
    }
    if (!stored?.completed)
      throw new DomainError('busy', 'Idempotency-Key: the first request with this key is still running');
    if (stored.etag) call.facts.etag = stored.etag;
    return { replay: { output: stored.output }, complete: async () => {}, release: async () => {} };
  }
  // Another call's, once the lease is over and it has taken the key.
  const ours = { ...id, claim };
  return {
    replay: null,
    complete: async ({ output, etag }) => {
      await em.nativeUpdate(IdempotencyKey, ours, { output, etag: etag ?? null, completed: true });
    },
    release: async () => {
      await em.nativeDelete(IdempotencyKey, { ...ours, completed: false });
    },
  };
}
