import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../../kernel/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import { KeyError, type KeyFault, type Kms } from '../../ports/kms.ts';
import type { SecretPurpose, Secrets } from '../../ports/secrets.ts';
import { DataKey } from './data-key.entity.ts';
import { activeDataKey, dataKeyContext, replaceDataKey, reserveUses } from './data-keys.ts';

/** The place a ciphertext belongs to. `version` counts the values the record has had. */
export interface SecretPlace {
  purpose: SecretPurpose;
  organization_id: number;
  record: string | number;
  version: number;
}

/** A ciphertext taken apart. */
interface Envelope {
  data_key_id: string;
  nonce: Buffer;
  ciphertext: Buffer;
  tag: Buffer;
}

const algorithm = 'aes-256-gcm';
const tagBytes = 16;

/** `purpose|organisation|record|version`: GCM authenticates it, so a row copied elsewhere does not open. */
export function associatedData({ purpose, organization_id, record, version }: SecretPlace): string {
  // A bar in the record would let two places share one text.
  if (String(record).includes('|')) throw new Error('the record of a secret must not contain "|"');
  return `${purpose}|${organization_id}|${record}|${version}`;
}

/** Encrypts to `v1.<data key id>.<nonce>.<ciphertext + tag>`, the last two in base64url; a fresh random nonce each time. */
export function seal(dataKey: Uint8Array, dataKeyId: string, place: SecretPlace, plaintext: string): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv(algorithm, dataKey, nonce, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(associatedData(place)));
  const sealed = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return `v1.${dataKeyId}.${nonce.toString('base64url')}.${sealed.toString('base64url')}`;
}

/** Takes a ciphertext apart; null when it has not exactly the form `seal` writes. */
export function parseEnvelope(text: string): Envelope | null {
  const parts = /^v1\.([0-9a-f-]{36})\.([\w-]{16})\.([\w-]+)$/.exec(text);
  const [, id = '', nonceText = '', sealedText = ''] = parts ?? [];
  const nonce = Buffer.from(nonceText, 'base64url');
  const sealed = Buffer.from(sealedText, 'base64url');
  // Unused bits of the last character would give one secret many spellings.
  if (parts === null || sealed.length < tagBytes || sealed.toString('base64url') !== sealedText) return null;
  const end = sealed.length - tagBytes;
  return { data_key_id: id, nonce, ciphertext: sealed.subarray(0, end), tag: sealed.subarray(end) };
}

/** The plaintext; throws when key, place or a single bit differ. */
export function unseal(dataKey: Uint8Array, { nonce, ciphertext, tag }: Envelope, place: SecretPlace): string {
  const decipher = createDecipheriv(algorithm, dataKey, nonce, { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(associatedData(place)));
  decipher.setAuthTag(tag);
  return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8');
}

/** Unwrapped data keys by id. */
interface KeyCache {
  /**
   * Uses the key, from memory or by `load`; callers that miss at the same time share one load. `use` is synchronous, because the
   * bytes may be wiped as soon as it returns.
   */
  with<T>(id: string, load: () => Promise<Uint8Array>, use: (key: Uint8Array) => T): Promise<T>;
  /** Wipes everything. */
  clear(): void;
}

interface Kept {
  key: Uint8Array;
  timer: NodeJS.Timeout;
}

/** Holds keys for five minutes from their unwrapping, however often they are used, and wipes them when they go; oldest first. */
export function createKeyCache({ milliseconds = 300_000, max = 1_000 } = {}): KeyCache {
  const kept = new Map<string, Kept>();
  const loading = new Map<string, Promise<void>>();

  function wipe(id: string): void {
    const entry = kept.get(id);
    if (entry === undefined) return;
    clearTimeout(entry.timer);
    entry.key.fill(0);
    kept.delete(id);
  }

  function keep(id: string, key: Uint8Array): void {
    const [oldest] = kept.keys();
    if (kept.size >= max && oldest !== undefined) wipe(oldest);
    kept.set(id, { key, timer: setTimeout(wipe, milliseconds, id).unref() });
  }

  function loadOnce(id: string, load: () => Promise<Uint8Array>): Promise<void> {
    const running = loading.get(id);
    if (running !== undefined) return running;
    const started = load()
      .then((key) => keep(id, key))
      .finally(() => loading.delete(id));
    loading.set(id, started);
    return started;
  }

  return {
    async with(id, load, use) {
      for (;;) {
        const entry = kept.get(id);
        if (entry !== undefined) return use(entry.key);
        await loadOnce(id, load);
      }
    },
    clear: () => [...kept.keys()].forEach(wipe),
  };
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
          // Started without this key on request (PORTICO_KMS_ALLOW_MISSING): old secrets wait for it, new ones need another.
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
