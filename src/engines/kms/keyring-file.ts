import { randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, link, mkdir, open, rename, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';

/** 32 bytes in base64url without padding. */
const material = z.string().regex(/^[\w-]{43}$/, 'must be 32 bytes in base64url');

const keyringSchema = z
  .strictObject({
    version: z.literal(1),
    active: z.string(),
    keys: z.array(
      z.strictObject({
        // The length byte of a wrapped key (keyring-blob.ts) allows 255.
        id: z.string().regex(/^[\w-]{1,64}$/),
        created_at: z.iso.datetime(),
        state: z.enum(['active', 'inactive', 'disabled']),
        material,
      }),
    ),
  })
  .refine(
    ({ active, keys }) =>
      keys
        .filter((key) => key.state === 'active')
        .map((key) => key.id)
        .join() === active,
    {
      error: 'exactly the key named by "active" must have the state active',
    },
  )
  .refine(({ keys }) => new Set(keys.map((key) => key.id)).size === keys.length, {
    error: 'two keys have the same id',
  });

export type Keyring = z.infer<typeof keyringSchema>;
export type KeyringKey = Keyring['keys'][number];

/** A keyring we made ourselves, or one handed in by an orchestrator (systemd credential, mounted secret), which we never write. */
export type KeyringOwner = 'ours' | 'operator';

/** What to do about a keyring that cannot be used; it is never replaced by a new one, under which nothing stored would open. */
const remedy =
  'restore it from its backup, or, to give up the stored secrets, move it away and set PORTICO_KMS_ALLOW_MISSING=1';

/** A fresh 256-bit key. */
export function newKey(now: Date): KeyringKey {
  return {
    id: `kek-${randomBytes(8).toString('hex')}`,
    created_at: now.toISOString(),
    state: 'active',
    material: randomBytes(32).toString('base64url'),
  };
}

/** @throws Error with all that is wrong, the worst first */
function refuseFaults(...faults: (string | null)[]): void {
  const found = faults.filter((fault) => fault !== null);
  if (found.length > 0) throw new Error(found.join('; besides, '));
}

/**
 * Reads and checks the keyring; null when there is no file.
 * @throws Error that names the remedies: damaged, readable by others, not owned by this user.
 */
export async function readKeyring(path: string, owner: KeyringOwner): Promise<Keyring | null> {
  const around = owner === 'ours' ? await directoryFault(dirname(path)) : null;
  // Our own file is never a link; an orchestrator's often is.
  const flags = constants.O_RDONLY | (owner === 'ours' ? constants.O_NOFOLLOW : 0);
  let file: FileHandle;
  try {
    file = await open(path, flags);
  } catch (error) {
    if (isCode(error, 'ENOENT')) {
      refuseFaults(around);
      return null;
    }
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`the keyring ${path} cannot be opened (${code}); ${remedy}`, { cause: error });
  }
  try {
    const stats = await file.stat();
    const read = stats.isFile() ? parseKeyring(await file.readFile('utf8')) : { damage: 'not a file' };
    const damage = 'damage' in read ? `the keyring ${path} is damaged (${read.damage}): ${remedy}` : null;
    refuseFaults(damage, around, fileFault(path, stats, owner));
    return 'keyring' in read ? read.keyring : null;
  } finally {
    await file.close();
  }
}

/**
 * Writes the first keyring. Of several processes that start at once exactly one wins: the file is made complete and synced under
 * another name, and `link` then gives it its own, which fails when another process was faster.
 * @returns whether ours is the one.
 */
export async function createKeyring(path: string, keyring: Keyring): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  refuseFaults(await directoryFault(dirname(path)));
  const draft = await writeDraft(path, keyring);
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await unlink(draft);
    await syncDirectory(dirname(path));
  }
}

/** Replaces the keyring atomically; a concurrent reader sees the old one or the new one. */
export async function replaceKeyring(path: string, keyring: Keyring): Promise<void> {
  await rename(await writeDraft(path, keyring), path);
  await syncDirectory(dirname(path));
}

async function writeDraft(path: string, keyring: Keyring): Promise<string> {
  const draft = `${path}.${process.pid}.${randomBytes(6).toString('hex')}`;
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(keyring, null, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  return draft;
}

/** A new name is durable only when its directory is. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  await directory.sync().finally(() => directory.close());
}

function parseKeyring(text: string): { keyring: Keyring } | { damage: string } {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The parser's message quotes the text, which is key material.
    return { damage: text === '' ? 'empty' : 'not valid JSON' };
  }
  const parsed = keyringSchema.safeParse(json);
  if (parsed.success) return { keyring: parsed.data };
  const problems = parsed.error.issues.map(({ path: at, message }) => `${at.join('.') || 'file'}: ${message}`);
  return { damage: problems.join('; ') };
}

/** Why no keys may be kept in a directory; null: they may, or it is not there. */
async function directoryFault(path: string): Promise<string | null> {
  const stats = await stat(path).catch((error: unknown) => {
    if (isCode(error, 'ENOENT')) return null;
    throw error;
  });
  if (stats === null) return null;
  if ((stats.mode & 0o077) !== 0)
    return `the key directory ${path} has mode ${octal(stats)}; it must be 0700: chmod 700 ${path}`;
  return ownerFault(`the key directory ${path}`, stats, false);
}

/** Why a keyring may not be used as it stands; null: it may. */
function fileFault(path: string, stats: Stats, owner: KeyringOwner): string | null {
  // systemd hands credentials to a service as root's, readable through the group bits of an access list.
  const forbidden = owner === 'ours' ? 0o077 : 0o027;
  if ((stats.mode & forbidden) !== 0)
    return `the keyring ${path} has mode ${octal(stats)}; it must be 0600: chmod 600 ${path}`;
  return ownerFault(`the keyring ${path}`, stats, owner === 'operator');
}

function ownerFault(what: string, stats: Stats, rootToo: boolean): string | null {
  const us = process.geteuid?.();
  if (us === undefined || stats.uid === us || (rootToo && stats.uid === 0)) return null;
  return `${what} belongs to user ${stats.uid}, the service runs as ${us}; it must belong to the service`;
}

const octal = (stats: Stats): string => `0${(stats.mode & 0o777).toString(8).padStart(3, '0')}`;

export const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;
