import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { KeyError, type Kms, type WrappedKey } from '../../ports/kms.ts';
import {
  createKeyring,
  isCode,
  type Keyring,
  type KeyringKey,
  type KeyringOwner,
  newKey,
  readKeyring,
  replaceKeyring,
} from './keyring-file.ts';

/** A key wrapped by the local keyring: format byte 1, length and ASCII bytes of the KEK's id, nonce, ciphertext, tag. */
interface KeyringBlob {
  kek_id: string;
  header: Uint8Array;
  nonce: Uint8Array;
  ciphertext: Uint8Array;
  tag: Uint8Array;
}

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/** Wraps `key` with AES-256-GCM; header and context are authenticated (NIST SP 800-38D). */
function sealBlob(kek: Uint8Array, kekId: string, key: Uint8Array, context: string): Uint8Array {
  const id = Buffer.from(kekId, 'ascii');
  const header = Buffer.concat([Buffer.of(1, id.length), id]);
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, kek, nonce, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.concat([header, Buffer.from(context)]));
  return Buffer.concat([header, nonce, cipher.update(key), cipher.final(), cipher.getAuthTag()]);
}

/** Takes a blob apart; null when it cannot be one of ours. */
function parseBlob(blob: Uint8Array): KeyringBlob | null {
  const headerBytes = 2 + (blob[1] ?? 0);
  if (blob[0] !== 1 || headerBytes === 2 || blob.length <= headerBytes + nonceBytes + tagBytes) return null;
  return {
    kek_id: Buffer.from(blob.subarray(2, headerBytes)).toString('ascii'),
    header: blob.subarray(0, headerBytes),
    nonce: blob.subarray(headerBytes, headerBytes + nonceBytes),
    ciphertext: blob.subarray(headerBytes + nonceBytes, blob.length - tagBytes),
    tag: blob.subarray(blob.length - tagBytes),
  };
}

/** The wrapped key; throws when KEK, context or a single bit differ. */
function openBlob(kek: Uint8Array, { header, nonce, ciphertext, tag }: KeyringBlob, context: string): Uint8Array {
  const decipher = createDecipheriv(algorithm, kek, nonce, { authTagLength: tagBytes });
  decipher.setAAD(Buffer.concat([header, Buffer.from(context)]));
  decipher.setAuthTag(tag);
  const key = decipher.update(ciphertext);
  decipher.final();
  return key;
}

interface LocalKeyringOptions {
  /** Data directory; the keyring is `keys/keyring.json` below it and is made at the first start. */
  dataDirectory: string;
  /** `PORTICO_KEYRING_FILE` or a systemd credential: used instead, must exist, never written. */
  file?: string;
  /** Whether a keyring that is not there is made; false when keys of an earlier one are needed. */
  mayCreate?: boolean;
  now?: () => Date;
}

/** Keys in a file beside the data: no outside service, and a backup of the database alone reveals no secret. */
interface LocalKeyring extends Kms {
  path: string;
  /** Whether this call made the keyring: the moment to advise a backup of it. */
  created: boolean;
  /** Adds a KEK and makes it active; the others still open what they wrapped. @returns its id. */
  rotate(): Promise<string>;
  /** Disables a KEK; the caller has checked that nothing is wrapped under it. Its material stays in the file. */
  disable(kekId: string): Promise<void>;
}

const maxKeyBytes = 4_096;

/** There is no keyring, and none may be made in its place. */
export class KeyringMissing extends Error {
  override name = 'KeyringMissing';
  readonly path: string;

  constructor(path: string) {
    super(`the keyring ${path} does not exist`);
    this.path = path;
  }
}

/**
 * Opens the keyring, or makes it at the first start.
 * @throws Error that names the remedy, when it is missing, is readable by others, belongs to another user or is damaged.
 */
export async function openLocalKeyring(options: LocalKeyringOptions): Promise<LocalKeyring> {
  const { dataDirectory, file, mayCreate = true, now = () => new Date() } = options;
  const path = file ?? join(dataDirectory, 'keys', 'keyring.json');
  const owner: KeyringOwner = file === undefined ? 'ours' : 'operator';
  let keyring = await readKeyring(path, owner);
  let created = false;
  if (keyring === null) {
    if (owner === 'operator' || !mayCreate) throw new KeyringMissing(path);
    const first = newKey(now());
    created = await createKeyring(path, { version: 1, active: first.id, keys: [first] });
    keyring = await readKeyring(path, owner);
    if (keyring === null) throw new Error(`the keyring ${path} was removed while it was being made`);
  }
  return keyringKms({ path, owner, created, now, keyring });
}

interface Opened {
  path: string;
  owner: KeyringOwner;
  created: boolean;
  now: () => Date;
  keyring: Keyring;
}

function keyringKms({ path, owner, created, now, ...opened }: Opened): LocalKeyring {
  let last = opened.keyring;

  /** Another process may have rotated. While running, a keyring that disappears or is damaged does not remove the loaded keys. */
  async function current(): Promise<Keyring> {
    last = (await readKeyring(path, owner).catch(() => null)) ?? last;
    return last;
  }

  async function wrap(key: Uint8Array, context: string): Promise<WrappedKey> {
    if (key.length === 0 || key.length > maxKeyBytes) throw new RangeError(`a key has 1 to ${maxKeyBytes} bytes`);
    const { active, keys } = await current();
    const kek = usable(keys, active);
    return { blob: withMaterial(kek, (material) => sealBlob(material, active, key, context)), kek_id: active };
  }

  async function unwrap(blob: Uint8Array, context: string): Promise<Uint8Array> {
    const parsed = parseBlob(blob);
    if (parsed === null) throw new KeyError('not_authentic', 'these bytes are not a key wrapped by the local keyring');
    const kek = usable((await current()).keys, parsed.kek_id);
    try {
      return withMaterial(kek, (material) => openBlob(material, parsed, context));
    } catch (cause) {
      const message = 'the wrapped key was changed, or belongs to another context';
      throw new KeyError('not_authentic', message, { kek_id: kek.id, cause });
    }
  }

  async function change(edit: (keyring: Keyring) => Keyring): Promise<void> {
    if (owner === 'operator')
      throw new Error(`the keyring ${path} is not ours to change: add the key there and restart`);
    await locked(`${path}.lock`, async () => {
      const keyring = await readKeyring(path, owner);
      if (keyring === null) throw new Error(`the keyring ${path} is gone: restore it from its backup`);
      await replaceKeyring(path, edit(keyring));
    });
    await current();
  }

  return {
    path,
    created,
    wrap,
    unwrap,
    async rewrap(blob, context) {
      const key = await unwrap(blob, context);
      return wrap(key, context).finally(() => key.fill(0));
    },
    async describe() {
      const { keys } = await current();
      const infos = keys.map(({ id, state, created_at }) => ({ id, state, created_at: new Date(created_at) }));
      return { provider: 'local', location: path, keys: infos };
    },
    async health() {
      try {
        if ((await readKeyring(path, owner)) !== null) return { ok: true };
        return { ok: false, problem: `the keyring ${path} is gone: restore it before the next start` };
      } catch (error) {
        return { ok: false, problem: error instanceof Error ? error.message : String(error) };
      }
    },
    async rotate() {
      const added = newKey(now());
      await change(({ version, keys }) => {
        const older = keys.map((key) => (key.state === 'active' ? { ...key, state: 'inactive' as const } : key));
        return { version, active: added.id, keys: [...older, added] };
      });
      return added.id;
    },
    async disable(kekId) {
      await change((keyring) => {
        if (keyring.active === kekId) throw new Error(`${kekId} is the active key: rotate first`);
        if (!keyring.keys.some((key) => key.id === kekId))
          throw new KeyError('missing_key', `no key ${kekId}`, { kek_id: kekId });
        const keys = keyring.keys.map((key) => (key.id === kekId ? { ...key, state: 'disabled' as const } : key));
        return { ...keyring, keys };
      });
    },
  };
}

function usable(keys: readonly KeyringKey[], kek_id: string): KeyringKey {
  const kek = keys.find((key) => key.id === kek_id);
  if (kek === undefined) throw new KeyError('missing_key', `the keyring has no key ${kek_id}`, { kek_id });
  if (kek.state === 'disabled') throw new KeyError('disabled_key', `the key ${kek_id} is disabled`, { kek_id });
  return kek;
}

function withMaterial<T>(kek: KeyringKey, use: (material: Uint8Array) => T): T {
  const material = Buffer.from(kek.material, 'base64url');
  try {
    return use(material);
  } finally {
    material.fill(0);
  }
}

/** Two rotations at once would lose one's key. The lock file is kept when a process dies, for a person to look at. */
async function locked(path: string, run: () => Promise<void>): Promise<void> {
  const file = await open(path, 'wx', 0o600).catch((error: unknown) => {
    if (!isCode(error, 'EEXIST')) throw error;
    throw new Error(`the keyring is being changed by another process; if none runs, remove ${path}`);
  });
  try {
    await run();
  } finally {
    await file.close();
    await unlink(path);
  }
}
