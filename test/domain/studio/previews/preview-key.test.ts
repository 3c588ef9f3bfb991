import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Setting } from '../../../../src/domain/setting.entity.ts';
import { PreviewKey } from '../../../../src/domain/studio/previews/preview-access.ts';
import { openLocalKeyring } from '../../../../src/engines/kms/local-keyring.ts';
import { KeyError, type Kms } from '../../../../src/ports/kms.ts';
import { shared, startTestApp } from '../../../support/app.ts';

const app = shared(startTestApp);
let directories: string[] = [];
let kms: Kms;

async function newKms(): Promise<Kms> {
  const dataDirectory = await mkdtemp(path.join(tmpdir(), 'portico-keyring-'));
  directories.push(dataDirectory);
  return openLocalKeyring({ dataDirectory });
}
const key = (by = kms) => new PreviewKey(app.services.orm, by);

beforeAll(async () => {
  kms = await newKms();
});
afterAll(async () => {
  for (const directory of directories) await rm(directory, { recursive: true });
  directories = [];
});

it('is one for all processes, however many begin at once, and never stored as it is', async () => {
  const found = await Promise.all(Array.from({ length: 8 }, () => key().get()));
  expect(new Set(found.map((each) => each.toString('hex'))).size).toBe(1);
  expect(found[0]).toHaveLength(32);
  expect(await key().get()).toEqual(found[0]);
  const stored = await app.services.orm.em.fork().findOneOrFail(Setting, { name: 'preview_key' });
  const text = JSON.stringify(stored.value);
  for (const encoding of ['hex', 'base64', 'base64url'] as const)
    expect(text).not.toContain(found[0]?.toString(encoding));
});

it('is replaced when no process can decrypt it any more, by one that all use', async () => {
  const old = await key().get();
  const other = await newKms();
  const [one, two] = await Promise.all([key(other).get(), key(other).get()]);
  expect(one).toEqual(two);
  expect(one).not.toEqual(old);
});

it('is requested again after the key service was away', async () => {
  let isAway = true;
  const good = await newKms();
  const flaky: Kms = {
    ...good,
    wrap: (plain, context) => good.wrap(plain, context),
    async unwrap(blob, context) {
      if (isAway) throw new KeyError('unavailable', 'away');
      return good.unwrap(blob, context);
    },
  };
  const own = key(flaky);
  await expect(own.get()).rejects.toMatchObject({ code: 'unavailable' });
  isAway = false;
  expect(await own.get()).toHaveLength(32);
});
