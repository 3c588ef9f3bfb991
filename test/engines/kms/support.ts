import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Keyring } from '../../../src/engines/kms/keyring-file.ts';
import { openLocalKeyring } from '../../../src/engines/kms/local-keyring.ts';

/** An empty data directory until the test ends. */
export async function dataDirectory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'portico-keys-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** Edits a keyring file behind the engine's back. */
export async function editKeyring(path: string, edit: (keyring: Keyring) => Keyring): Promise<void> {
  await writeFile(path, JSON.stringify(edit(JSON.parse(await readFile(path, 'utf8')) as Keyring)));
}

/** A fresh local keyring with the handles of the contract suite. */
export async function localKms() {
  const kms = await openLocalKeyring({ dataDirectory: await dataDirectory() });
  const remove = (kekId: string) =>
    editKeyring(kms.path, (keyring) => ({ ...keyring, keys: keyring.keys.filter((key) => key.id !== kekId) }));
  return { kms, rotate: () => kms.rotate(), disable: (kekId: string) => kms.disable(kekId), remove };
}
