import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import { openLocalKeyring } from '../../../src/engines/kms/local-keyring.ts';
import { fault, kmsContract } from './kms-contract.ts';
import { dataDirectory, editKeyring, localKms } from './support.ts';

kmsContract('local keyring', localKms);

const mode = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);

describe('first start', () => {
  it('makes the keyring once, for its owner only', async () => {
    const directory = await dataDirectory();
    const kms = await openLocalKeyring({ dataDirectory: directory });
    expect(kms.created).toBe(true);
    expect(kms.path).toBe(join(directory, 'keys', 'keyring.json'));
    expect([await mode(kms.path), await mode(dirname(kms.path))]).toEqual(['600', '700']);
    const again = await openLocalKeyring({ dataDirectory: directory });
    expect(again.created).toBe(false);
    expect(await again.describe()).toEqual(await kms.describe());
    expect(await readdir(dirname(kms.path))).toEqual(['keyring.json']);
  });

  it('lets exactly one of several processes make it', async () => {
    const directory = await dataDirectory();
    const script = fileURLToPath(new URL('first-start.child.ts', import.meta.url));
    const children = Array.from({ length: 6 }, () => fork(script, { execArgv: [] }));
    await Promise.all(children.map((child) => once(child, 'message')));
    const answers = children.map((child) => once(child, 'message'));
    for (const child of children) child.send(directory);
    const results = (await Promise.all(answers)).map(([result]) => result as { created: boolean; keys: string[] });
    expect(results.filter((result) => result.created)).toHaveLength(1);
    expect(new Set(results.map((result) => result.keys.join())).size).toBe(1);
    expect(await readdir(join(directory, 'keys'))).toEqual(['keyring.json']);
  });

  it('lets exactly one of many callers in one process make it', async () => {
    const directory = await dataDirectory();
    const opened = await Promise.all(Array.from({ length: 20 }, () => openLocalKeyring({ dataDirectory: directory })));
    expect(opened.filter((kms) => kms.created)).toHaveLength(1);
  });
});

describe('refusing to start', () => {
  async function made(): Promise<{ directory: string; path: string }> {
    const directory = await dataDirectory();
    return { directory, path: (await openLocalKeyring({ dataDirectory: directory })).path };
  }

  it.each([0o640, 0o604, 0o660, 0o644])('keyring of mode %o', async (loose) => {
    const { directory, path } = await made();
    await chmod(path, loose);
    const text = `keyring.json has mode 0${loose.toString(8)}; it must be 0600: chmod 600 ${path}`;
    await expect(openLocalKeyring({ dataDirectory: directory })).rejects.toThrow(text);
  });

  it('loose directory', async () => {
    const { directory, path } = await made();
    await chmod(dirname(path), 0o755);
    await expect(openLocalKeyring({ dataDirectory: directory })).rejects.toThrow('has mode 0755; it must be 0700');
    const empty = await dataDirectory();
    await mkdir(join(empty, 'keys'), { mode: 0o750 });
    await expect(openLocalKeyring({ dataDirectory: empty })).rejects.toThrow('has mode 0750');
  });

  it('another owner', async () => {
    const { directory } = await made();
    const us = process.geteuid?.() ?? 0;
    vi.spyOn(process, 'geteuid').mockReturnValue(us + 1);
    const refused = openLocalKeyring({ dataDirectory: directory });
    await expect(refused).rejects.toThrow(`belongs to user ${us}, the service runs as ${us + 1}`);
    vi.restoreAllMocks();
  });

  it('a keyring that is a link', async () => {
    const { directory, path } = await made();
    await rename(path, join(directory, 'elsewhere.json'));
    await symlink(join(directory, 'elsewhere.json'), path);
    await expect(openLocalKeyring({ dataDirectory: directory })).rejects.toThrow('cannot be opened');
  });

  it('a keyring that is missing where one is needed: none is made in its place', async () => {
    const { directory, path } = await made();
    await rm(path);
    await expect(openLocalKeyring({ dataDirectory: directory, mayCreate: false })).rejects.toThrow('does not exist');
    expect(await readdir(dirname(path))).toEqual([]);
  });

  it('damage before the mode of the directory it is in, and both', async () => {
    const { directory, path } = await made();
    await writeFile(path, '{');
    await chmod(dirname(path), 0o755);
    await chmod(path, 0o644);
    await expect(openLocalKeyring({ dataDirectory: directory })).rejects.toThrow(
      /^the keyring \S+ is damaged \(not valid JSON\): restore it .+; besides, the key directory \S+ has mode 0755; .+; besides, the keyring \S+ has mode 0644; /,
    );
  });

  it('damage, without showing any key', async () => {
    const { directory, path } = await made();
    const text = await readFile(path, 'utf8');
    const secret = JSON.parse(text).keys[0].material as string;
    const damaged = [
      text.slice(0, -10),
      text.replace('"version": 1', '"version": 2'),
      text.replace('"active": "kek', '"active": "kez'),
      text.replace(secret, secret.slice(1)),
      '',
    ];
    for (const broken of damaged) {
      await writeFile(path, broken);
      const error = await openLocalKeyring({ dataDirectory: directory }).then(
        String,
        (reason: Error) => reason.message,
      );
      expect(error).toMatch(/^the keyring \S+ is damaged \(.+\): restore it from its backup/);
      expect(error).not.toContain(secret.slice(1, 20));
    }
  });
});

describe('a keyring handed in by an orchestrator', () => {
  it('is used where it is, through a link too, and never written', async () => {
    const directory = await dataDirectory();
    const { path } = await openLocalKeyring({ dataDirectory: directory });
    await chmod(path, 0o440);
    const file = join(directory, 'credential');
    await symlink(path, file);
    const kms = await openLocalKeyring({ dataDirectory: directory, file });
    const { blob } = await kms.wrap(Buffer.alloc(32, 7), 'c');
    expect(Buffer.from(await kms.unwrap(blob, 'c'))).toEqual(Buffer.alloc(32, 7));
    await expect(kms.rotate()).rejects.toThrow('is not ours to change');
    await chmod(path, 0o444);
    await expect(openLocalKeyring({ dataDirectory: directory, file })).rejects.toThrow('has mode 0444');
  });

  it('must exist', async () => {
    const directory = await dataDirectory();
    const missing = openLocalKeyring({ dataDirectory: directory, file: join(directory, 'none') });
    await expect(missing).rejects.toThrow('none does not exist');
  });
});

describe('while running', () => {
  it('follows a rotation by another process', async () => {
    const directory = await dataDirectory();
    const server = await openLocalKeyring({ dataDirectory: directory });
    const command = await openLocalKeyring({ dataDirectory: directory });
    const added = await command.rotate();
    const { blob } = await command.wrap(Buffer.alloc(32), 'c');
    expect((await server.wrap(Buffer.alloc(32), 'c')).kek_id).toBe(added);
    expect(await server.unwrap(blob, 'c')).toHaveLength(32);
  });

  it('continues with the loaded keys when the file goes away, and is no longer healthy', async () => {
    const kms = await openLocalKeyring({ dataDirectory: await dataDirectory() });
    const { blob } = await kms.wrap(Buffer.alloc(32), 'c');
    await chmod(kms.path, 0o644);
    expect(await kms.health()).toMatchObject({ ok: false, problem: expect.stringContaining('mode 0644') });
    await rm(kms.path);
    expect(await kms.health()).toMatchObject({ ok: false, problem: expect.stringContaining('is gone') });
    expect(await kms.unwrap(blob, 'c')).toHaveLength(32);
    await expect(kms.rotate()).rejects.toThrow('is gone');
  });

  it('loses no key when rotations collide', async () => {
    const directory = await dataDirectory();
    const opened = await Promise.all(Array.from({ length: 5 }, () => openLocalKeyring({ dataDirectory: directory })));
    const results = await Promise.allSettled(opened.map((kms) => kms.rotate()));
    const added = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const ids = (await opened[0]?.describe())?.keys.map((key) => key.id) ?? [];
    expect(ids).toHaveLength(1 + added.length);
    for (const id of added) expect(ids).toContain(id);
  });

  it('does not disable the active key', async () => {
    const kms = await openLocalKeyring({ dataDirectory: await dataDirectory() });
    const [first] = (await kms.describe()).keys;
    await expect(kms.disable(first?.id ?? '')).rejects.toThrow('is the active key: rotate first');
    expect(await fault(kms.disable('kek-none'))).toBe('missing_key');
  });

  it('reports a key of another keyring as missing', async () => {
    const [a, b] = [await localKms(), await localKms()];
    const { blob } = await a.kms.wrap(Buffer.alloc(32), 'c');
    expect(await fault(b.kms.unwrap(blob, 'c'))).toBe('missing_key');
    // The same id with other material: the id alone opens nothing.
    const id = (await a.kms.describe()).keys[0]?.id ?? '';
    await editKeyring(b.kms.path, (keyring) => ({
      ...keyring,
      active: id,
      keys: keyring.keys.map((key) => ({ ...key, id })),
    }));
    expect(await fault(b.kms.unwrap(blob, 'c'))).toBe('not_authentic');
  });
});
