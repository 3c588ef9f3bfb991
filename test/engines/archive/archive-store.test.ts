import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { appendFile, mkdir, readdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createArchiveStore } from '../../../src/engines/archive/archive-store.ts';
import type { ArchiveDraft, ArchiveLabel } from '../../../src/ports/archive.ts';
import { temporaryDirectory } from '../../support/git-store.ts';
import fc from '../../support/properties.ts';

const store = createArchiveStore({ product_version: '1.2.3' });
const label: ArchiveLabel = {
  made_at: '2026-01-02T03:04:05.678Z',
  project: { organization: 'acme', organization_name: 'Acme', machine_name: 'site', name: 'Site' },
  counts: { pull: 2 },
};
const never = new AbortController().signal;
const rows = 'rows/pull.jsonl';

async function* lines(...texts: string[]): AsyncGenerator<string> {
  yield* texts;
}

async function all(source: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = [];
  for await (const line of source) found.push(line);
  return found;
}

/** Fills an archive with the lines of one file. */
const of =
  (...texts: string[]) =>
  async (draft: ArchiveDraft): Promise<ArchiveLabel> => {
    await draft.writeLines(rows, lines(...texts));
    return label;
  };

async function fill(draft: ArchiveDraft): Promise<ArchiveLabel> {
  await draft.writeLines('rows/pull.jsonl', lines('{"number":1}', '{"number":2}'));
  await writeFile(path.join(await draft.folder('repository'), 'objects'), Buffer.alloc(1000, 7));
  return label;
}

/** An archive and the directory it lies in. */
async function made(): Promise<{ place: string; parent: string }> {
  const parent = temporaryDirectory();
  const place = path.join(parent, 'backup');
  await store.create(place, fill, never);
  return { place, parent };
}

/** Changes the manifest and its checksum. */
async function forge(place: string, change: (manifest: Record<string, unknown>) => object): Promise<void> {
  const file = path.join(place, 'portico-backup.json');
  const { checksum: _, ...rest } = JSON.parse(await readFile(file, 'utf8'));
  const changed = { ...rest, ...change(rest) };
  const checksum = createHash('sha256').update(JSON.stringify(changed)).digest('hex');
  await writeFile(file, JSON.stringify({ ...changed, checksum }));
}

describe('create and open', () => {
  it('return what was written, and describe it', async () => {
    const { place, parent } = await made();
    expect(await readdir(parent)).toEqual(['backup']);
    const archive = await store.open(place, never);
    expect(archive).toMatchObject({
      label,
      product_version: '1.2.3',
      files: ['repository/objects', 'rows/pull.jsonl'],
    });
    expect(await all(archive.lines('rows/pull.jsonl'))).toEqual(['{"number":1}', '{"number":2}']);
    expect(await readFile(path.join(archive.folder('repository'), 'objects'))).toEqual(Buffer.alloc(1000, 7));
  });

  it('give back lines in whatever pieces they are read', async () => {
    const long = (length: number) => 'é'.repeat(length);
    const texts = ['', '1', long(40_000), '', '\u2028', long(100_000), 'last'];
    const place = path.join(temporaryDirectory(), 'backup');
    await store.create(place, of(...texts), never);
    expect(await all((await store.open(place, never)).lines(rows))).toEqual(texts);
  });

  it('let a file be written from what it held, and take the place of an empty directory', async () => {
    const place = temporaryDirectory();
    const bytes = await store.create(
      place,
      async (draft) => {
        expect(await draft.writeLines('a', lines('1', '2', 'ünïcode \u2028 🐝'))).toBe(3);
        const upper = async function* () {
          for await (const line of draft.lines('a')) yield `${line}!`;
        };
        await draft.writeLines('a', upper());
        return label;
      },
      never,
    );
    expect(bytes).toBeGreaterThan(20);
    expect(await all((await store.open(place, never)).lines('a'))).toEqual(['1!', '2!', 'ünïcode \u2028 🐝!']);
  });

  it('refuse a place that is taken, and leave it as it is', async () => {
    const { place, parent } = await made();
    await expect(store.create(place, fill, never)).rejects.toMatchObject({ code: 'already_exists' });
    const file = path.join(parent, 'file');
    await writeFile(file, 'mine');
    await expect(store.create(file, fill, never)).rejects.toMatchObject({ code: 'already_exists' });
    expect(await readFile(file, 'utf8')).toBe('mine');
    // Taken by another process while the archive was written.
    const late = path.join(parent, 'late');
    const slow = async (draft: ArchiveDraft) => {
      await mkdir(late);
      await writeFile(path.join(late, 'file'), 'mine');
      return fill(draft);
    };
    await expect(store.create(late, slow, never)).rejects.toMatchObject({ code: 'already_exists' });
    expect((await readdir(parent)).sort()).toEqual(['backup', 'file', 'late']);
  });

  it('leave nothing of what fails or is aborted', async () => {
    const parent = temporaryDirectory();
    const place = path.join(parent, 'deep/backup');
    const failing = async (draft: ArchiveDraft) => {
      await fill(draft);
      throw new Error('no more');
    };
    await expect(store.create(place, failing, never)).rejects.toThrow('no more');
    const stop = new AbortController();
    const endless = async function* () {
      for (let at = 0; ; at += 1) {
        if (at === 10_000) stop.abort(new Error('stopped'));
        yield `${at}`;
      }
    };
    const writing = (draft: ArchiveDraft) => draft.writeLines('a', endless()).then(() => label);
    await expect(store.create(place, writing, stop.signal)).rejects.toThrow();
    const late = (draft: ArchiveDraft) => fill(draft).finally(() => stop.abort());
    await expect(store.create(place, late, stop.signal)).rejects.toThrow();
    expect(await readdir(path.join(parent, 'deep'))).toEqual([]);
  });
});

describe('open refuses', () => {
  it.each<[string, (place: string) => Promise<unknown>, RegExp]>([
    ['a missing file', (place) => rm(path.join(place, rows)), /^rows\/pull\.jsonl: is missing; copy the backup again/],
    ['a truncated file', (place) => truncate(path.join(place, rows), 5), /^rows\/pull\.jsonl: has 5 bytes, not the 26/],
    ['a longer file', (place) => appendFile(path.join(place, rows), '\n'), /^rows\/pull\.jsonl: has 27 bytes/],
    [
      'a truncated manifest',
      (place) => truncate(path.join(place, 'portico-backup.json'), 200),
      /^portico-backup\.json: is not readable; copy/,
    ],
    [
      'a later format',
      (place) => forge(place, () => ({ format: 2, product_version: '9.0.0' })),
      /^portico-backup\.json: format 2 of a backup made by Portico 9\.0\.0 is not known here; restore it with that/,
    ],
    ['no format', (place) => forge(place, () => ({ format: 'one' })), /^portico-backup\.json: format: /],
    ...['../../etc/passwd', '/etc/passwd', 'a/../../b', 'rows/./pull.jsonl', 'a//b', 'a\\b', ''].map(
      (outside): [string, (place: string) => Promise<unknown>, RegExp] => [
        `the path ${JSON.stringify(outside)}`,
        (place) => forge(place, () => ({ files: [{ path: outside, bytes: 1, sha256: 'a'.repeat(64) }] })),
        /^portico-backup\.json: files\.0\.path: (is not a relative path|leads out of the backup)/,
      ],
    ),
    [
      'a link in place of a file',
      async (place) => {
        await rename(path.join(place, rows), path.join(place, '../outside'));
        await symlink('../../outside', path.join(place, rows));
      },
      /^rows\/pull\.jsonl: is no plain file of the backup/,
    ],
    [
      'a link in place of a directory',
      async (place) => {
        await rename(path.join(place, 'rows'), path.join(place, '../outside'));
        await symlink('../outside', path.join(place, 'rows'));
      },
      /^rows\/pull\.jsonl: is no plain file of the backup/,
    ],
  ])('%s', async (_what, damage, message) => {
    const { place } = await made();
    await damage(place);
    const refusal = await store.open(place, never).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'invalid_request', message: expect.stringMatching(message) });
  });

  it('a line that is longer than any row', async () => {
    const parent = temporaryDirectory();
    const place = path.join(parent, 'backup');
    const long = 'x'.repeat(65 * 1024 * 1024);
    await store.create(place, of('1', long), never);
    const archive = await store.open(place, never);
    await expect(all(archive.lines(rows))).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('what is no backup', async () => {
    const parent = temporaryDirectory();
    for (const place of [parent, path.join(parent, 'nothing')])
      await expect(store.open(place, never)).rejects.toMatchObject({ code: 'not_found' });
    await writeFile(path.join(parent, 'file'), '');
    await expect(store.open(path.join(parent, 'file'), never)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('any flipped bit of any file, and never a whole archive', async () => {
    const { place } = await made();
    const names = ['portico-backup.json', rows, 'repository/objects'];
    const flip = async (name: string, part: number, bit: number) => {
      const file = path.join(place, name);
      const whole = await readFile(file);
      const broken = Buffer.from(whole);
      const at = Math.floor(part * whole.length);
      broken[at] = (broken[at] ?? 0) ^ (1 << bit);
      await writeFile(file, broken);
      const refusal = await store.open(place, never).catch((error: unknown) => error);
      await writeFile(file, whole);
      // White space of a manifest may be any.
      if (name === names[0] && /\s/.test(String.fromCharCode(broken[at]))) return;
      expect(refusal).toMatchObject({ code: 'invalid_request' });
    };
    const part = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    const bit = fc.integer({ min: 0, max: 7 });
    await fc.assert(fc.asyncProperty(fc.constantFrom(...names), part, bit, flip), { numRuns: 200 });
    expect(existsSync(place)).toBe(true);
    await store.open(place, never);
  });
});
