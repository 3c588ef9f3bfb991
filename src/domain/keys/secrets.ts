import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import { KeyError, type KeyFault, type Kms } from '../ports/kms.ts';
import { DataKey } from './data-key.entity.ts';
import { activeDataKey, dataKeyContext, replaceDataKey, reserveUses } from './data-keys.ts';
import { parseEnvelope, type SecretPlace, type SecretPurpose, seal, unseal } from './envelope.ts';
import { createKeyCache } from './key-cache.ts';

/**
 * Secrets at rest: AES-256-GCM under a data key per organisation. Both reject with `DomainError('unavailable')`, whose
 * `details.reason` is a `KeyFault`: `unavailable` passes, the others mean that this secret cannot be read.
 */
export interface Secrets {
  encrypt(
    organizationId: number,
    purpose: SecretPurpose,
    record: string | number,
    version: number,
    plaintext: string,
  ): Promise<string>;
  decrypt(
    organizationId: number,
    purpose: SecretPurpose,
    record: string | number,
    version: number,
    ciphertext: string,
  ): Promise<string>;
  /** Makes a new data key for what is encrypted from now on; other processes follow within five minutes. */
  rotate(organizationId: number): Promise<void>;
  /** Wipes the keys in memory. */
  close(): void;
}

export interface SecretsOptions {
  kms: Kms;
  em: EntityManager;
  clock: Clock;
  /** Encryptions with one data key; 2^30 keeps random nonces far from repeating (NIST SP 800-38D 8.3). */
  maxUses?: number;
}

/** Uses are counted in the database in blocks, so that an encryption normally costs no statement. */
const block = 1_024;
const holdMilliseconds = 300_000;

/** The active data key as this process knows it. */
interface Held {
  id: string;
  left: number;
  until: number;
}

/** The envelope layer on a key provider and the `data_key` table. */
export function createSecrets({ kms, em, clock, maxUses = 2 ** 30 }: SecretsOptions): Secrets {
  const cache = createKeyCache({ milliseconds: holdMilliseconds });
  const held = new Map<number, Held>();

  /** The organisation is part of the question: another one's data key is never even loaded. */
  function withKey<T>(organization_id: number, id: string, use: (key: Uint8Array) => T): Promise<T> {
    const load = async (): Promise<Uint8Array> => {
      const row = await em.fork().findOne(DataKey, { id, organization_id });
      if (row === null) throw unreadable('missing_key');
      return kms.unwrap(row.wrapped, dataKeyContext(row));
    };
    return cache.with(`${organization_id}|${id}`, load, use);
  }

  /** The active key with one use taken from our block. */
  async function take(organizationId: number): Promise<string> {
    const known = held.get(organizationId);
    const now = clock.now().getTime();
    // A time further ahead was taken before the clock was set back.
    if (known !== undefined && known.left > 0 && known.until > now && known.until <= now + holdMilliseconds) {
      known.left -= 1;
      return known.id;
    }
    for (;;) {
      const fork = em.fork();
      const row = await activeDataKey(fork, kms, organizationId, clock.now());
      const count = Math.min(block, maxUses);
      if (await reserveUses(fork, row.id, count, maxUses)) {
        held.set(organizationId, { id: row.id, left: count - 1, until: clock.now().getTime() + holdMilliseconds });
        return row.id;
      }
      await replaceDataKey(fork, kms, row, clock.now());
    }
  }

  async function replace(organizationId: number): Promise<void> {
    const fork = em.fork();
    await replaceDataKey(fork, kms, await activeDataKey(fork, kms, organizationId, clock.now()), clock.now());
    held.delete(organizationId);
  }

  return {
    async encrypt(organization_id, purpose, record, version, plaintext) {
      const place: SecretPlace = { organization_id, purpose, record, version };
      const sealed = async () => {
        const id = await take(organization_id);
        return withKey(organization_id, id, (key) => seal(key, id, place, plaintext));
      };
      return answering(() =>
        sealed().catch(async (error) => {
          // A start without a key has been asked for: what it sealed waits for it, what is new needs another.
          if (!(error instanceof KeyError && error.fault === 'missing_key')) throw error;
          await replace(organization_id);
          return sealed();
        }),
      );
    },
    async decrypt(organization_id, purpose, record, version, ciphertext) {
      const place: SecretPlace = { organization_id, purpose, record, version };
      const envelope = parseEnvelope(ciphertext);
      if (envelope === null) throw unreadable('not_authentic');
      const open = (key: Uint8Array): string => openOrRefuse(() => unseal(key, envelope, place));
      return answering(() => withKey(organization_id, envelope.data_key_id, open));
    },
    async rotate(organizationId) {
      await answering(() => replace(organizationId));
    },
    close() {
      held.clear();
      cache.clear();
    },
  };
}

async function answering<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw error instanceof KeyError ? unreadable(error.fault, error) : error;
  }
}

function openOrRefuse(open: () => string): string {
  try {
    return open();
  } catch (cause) {
    throw unreadable('not_authentic', cause);
  }
}

function unreadable(reason: KeyFault, cause?: unknown): DomainError {
  const message =
    reason === 'unavailable' ? 'The key service does not answer; try again later' : 'A stored secret cannot be read';
  return new DomainError('unavailable', message, { details: { reason }, cause });
}
