import { MikroORM } from '@mikro-orm/postgresql';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { DataKey } from '../../../src/domain/keys/data-key.entity.ts';
import { checkKeys, countByKek, rewrapDataKeys } from '../../../src/domain/keys/data-keys.ts';
import { createSecrets, type SecretsOptions } from '../../../src/domain/keys/secrets.ts';
import { DomainError } from '../../../src/kernel/errors.ts';
import { KeyError } from '../../../src/ports/kms.ts';
import { localKms } from '../../engines/kms/support.ts';
import { createDatabase, empty, type TestDatabase } from '../../support/postgres.ts';

let database: TestDatabase;
let orm: MikroORM;

beforeAll(async () => {
  database = await createDatabase(empty);
  orm = new MikroORM({ clientUrl: database.url, entities: [DataKey] });
  // As in the first migration, but for the reference to organization.
  await orm.em.fork().execute(`
    create table data_key (id uuid primary key, organization_id integer not null, kek_id text not null, wrapped bytea not null,
      state text not null check (state in ('active', 'retired')), uses bigint not null default 0, created_at timestamptz(3) not null);
    create unique index data_key_active on data_key (organization_id) where state = 'active'`);
});
afterAll(async () => {
  await orm.close();
  await database.drop();
});
beforeEach(() => orm.em.fork().nativeDelete(DataKey, {}));

const clock = { now: () => new Date() };
const rows = () => orm.em.fork().find(DataKey, {}, { orderBy: { created_at: 'asc', id: 'asc' } });

async function setUp(options: Partial<SecretsOptions> = {}) {
  const provider = await localKms();
  const open = () => createSecrets({ kms: provider.kms, em: orm.em, clock, ...options });
  return { ...provider, open, secrets: open() };
}

async function reason(call: Promise<unknown>): Promise<unknown> {
  const error = await call.catch((thrown: unknown) => thrown);
  if (!(error instanceof DomainError)) throw error;
  expect(error.code).toBe('unavailable');
  return error.details?.reason;
}

describe('secrets', () => {
  it('come back, from another process too', async () => {
    const { secrets, open } = await setUp();
    const text = await secrets.encrypt(1, 'upstream.git', 'a', 1, 'tökén');
    expect(await secrets.decrypt(1, 'upstream.git', 'a', 1, text)).toBe('tökén');
    expect(await open().decrypt(1, 'upstream.git', 'a', 1, text)).toBe('tökén');
    const [row, ...others] = await rows();
    expect(others).toEqual([]);
    expect(row).toMatchObject({ organization_id: 1, state: 'active', uses: 1_024 });
    expect(text.split('.')[1]).toBe(row?.id);
  });

  it('do not open in a copied row', async () => {
    const { secrets } = await setUp();
    const text = await secrets.encrypt(1, 'workflow.trigger', 5, 1, 'x');
    await secrets.encrypt(2, 'workflow.trigger', 5, 1, 'y');
    expect(await reason(secrets.decrypt(1, 'workflow.secret', 5, 1, text))).toBe('not_authentic');
    expect(await reason(secrets.decrypt(1, 'workflow.trigger', 6, 1, text))).toBe('not_authentic');
    expect(await reason(secrets.decrypt(1, 'workflow.trigger', 5, 2, text))).toBe('not_authentic');
    expect(await reason(secrets.decrypt(1, 'workflow.trigger', 5, 1, text.slice(0, -1)))).toBe('not_authentic');
    expect(await reason(secrets.decrypt(1, 'workflow.trigger', 5, 1, 'plain'))).toBe('not_authentic');
    expect(await reason(secrets.decrypt(2, 'workflow.trigger', 5, 1, text))).toBe('missing_key');
  });

  it('do not open with a data key copied to another organisation', async () => {
    const { secrets, open } = await setUp();
    const text = await secrets.encrypt(1, 'workflow.trigger', 5, 1, 'x');
    await orm.em.fork().nativeUpdate(DataKey, { organization_id: 1 }, { organization_id: 2 });
    expect(await reason(open().decrypt(2, 'workflow.trigger', 5, 1, text))).toBe('not_authentic');
  });

  it('are made under another data key once the one of before is lost, and those of before wait for it', async () => {
    const { secrets, open } = await setUp();
    const before = await secrets.encrypt(1, 'workflow.trigger', 5, 1, 'old');
    const another = await setUp();
    const after = await another.secrets.encrypt(1, 'workflow.trigger', 5, 2, 'new');
    expect(await another.open().decrypt(1, 'workflow.trigger', 5, 2, after)).toBe('new');
    expect(await reason(another.secrets.decrypt(1, 'workflow.trigger', 5, 1, before))).toBe('missing_key');
    expect(await open().decrypt(1, 'workflow.trigger', 5, 1, before)).toBe('old');
    expect((await rows()).map(({ state }) => state).sort()).toEqual(['active', 'retired']);
  });

  it.each([
    ['goes on', 300_001],
    ['is set back by an hour', -3600_000],
    ['is set forward by an hour', 3600_000],
  ])('follow another data key within five minutes when the clock %s', async (_how, milliseconds) => {
    const time = { at: Date.parse('2026-11-23T12:00:00Z') };
    const { secrets, open } = await setUp({ clock: { now: () => new Date(time.at) } });
    const dataKey = async () => (await secrets.encrypt(1, 'deploy.hook', 1, 1, 'x')).split('.')[1];
    const before = await dataKey();
    await open().rotate(1);
    expect(await dataKey()).toBe(before);
    time.at += milliseconds;
    expect(await dataKey()).not.toBe(before);
  });

  it('make one data key however many ask at once', async () => {
    const { open } = await setUp();
    const texts = await Promise.all(Array.from({ length: 8 }, () => open().encrypt(3, 'crawler.headers', 1, 1, 'x')));
    expect(await rows()).toHaveLength(1);
    expect(new Set(texts.map((text) => text.split('.')[1])).size).toBe(1);
  });

  it('change the data key after its uses, across processes, and keep the old ones readable', async () => {
    const { open } = await setUp({ maxUses: 4 });
    const texts: string[] = [];
    for (let process = 0; process < 3; process++) {
      const secrets = open();
      for (let i = 0; i < 5; i++) texts.push(await secrets.encrypt(1, 'deploy.hook', i, 1, String(i)));
    }
    const counts = Map.groupBy(texts, (text) => text.split('.')[1]);
    for (const used of counts.values()) expect(used.length).toBeLessThanOrEqual(4);
    expect((await rows()).filter((row) => row.state === 'active')).toHaveLength(1);
    const reader = open();
    for (const [index, text] of texts.entries()) {
      expect(await reader.decrypt(1, 'deploy.hook', index % 5, 1, text)).toBe(String(index % 5));
    }
  });

  it('change the data key on request, once even when several request it', async () => {
    const { secrets, open } = await setUp();
    const old = await secrets.encrypt(1, 'deploy.hook', 1, 1, 'x');
    await secrets.rotate(1);
    const fresh = await secrets.encrypt(1, 'deploy.hook', 1, 1, 'x');
    expect(fresh.split('.')[1]).not.toBe(old.split('.')[1]);
    expect(await secrets.decrypt(1, 'deploy.hook', 1, 1, old)).toBe('x');
    await Promise.all([open().rotate(1), open().rotate(1), open().rotate(1)]);
    expect((await rows()).filter((row) => row.state === 'active')).toHaveLength(1);
  });

  it('go on without the provider as long as the data key is in memory', async () => {
    const { secrets, open, kms } = await setUp();
    const text = await secrets.encrypt(1, 'oidc.client', 1, 1, 'x');
    vi.spyOn(kms, 'unwrap').mockRejectedValue(new KeyError('unavailable', 'connection refused'));
    expect(await secrets.decrypt(1, 'oidc.client', 1, 1, text)).toBe('x');
    expect(await secrets.encrypt(1, 'oidc.client', 1, 2, 'y')).toContain('v1.');
    expect(await reason(open().decrypt(1, 'oidc.client', 1, 1, text))).toBe('unavailable');
    secrets.close();
    expect(await reason(secrets.decrypt(1, 'oidc.client', 1, 1, text))).toBe('unavailable');
  });
});

describe('key-encryption keys', () => {
  it('can be replaced: data keys move, in steps, and the old key may go', async () => {
    const { secrets, open, kms, rotate, disable } = await setUp();
    const texts = await Promise.all([1, 2, 3].map((id) => secrets.encrypt(id, 'deploy.hook', 1, 1, String(id))));
    const old = (await kms.describe()).keys[0]?.id ?? '';
    const added = await rotate();
    const em = orm.em.fork();
    expect(await rewrapDataKeys(em, kms, 2)).toEqual({ moved: 2, left: 1 });
    expect(await countByKek(em)).toEqual(
      new Map(
        [
          [added, 2],
          [old, 1],
        ].sort() as [string, number][],
      ),
    );
    expect(await rewrapDataKeys(em, kms, 2)).toEqual({ moved: 1, left: 0 });
    expect(await rewrapDataKeys(em, kms, 2)).toEqual({ moved: 0, left: 0 });
    await disable(old);
    const reader = open();
    for (const [index, text] of texts.entries()) {
      expect(await reader.decrypt(index + 1, 'deploy.hook', 1, 1, text)).toBe(String(index + 1));
    }
  });
});

describe('check at start', () => {
  it('finds nothing to say about a sound set', async () => {
    const { secrets, kms, rotate } = await setUp();
    expect(await checkKeys({ kms, em: orm.em })).toEqual({ missing: [], unreadable: [] });
    await secrets.encrypt(1, 'deploy.hook', 1, 1, 'x');
    await rotate();
    await secrets.encrypt(2, 'deploy.hook', 1, 1, 'x');
    expect(await checkKeys({ kms, em: orm.em })).toEqual({ missing: [], unreadable: [] });
  });

  it('names keys that are missing or disabled, those of retired data keys too', async () => {
    const { secrets, kms, rotate, remove, disable } = await setUp();
    await secrets.encrypt(1, 'deploy.hook', 1, 1, 'x');
    const first = (await kms.describe()).keys[0]?.id ?? '';
    const second = await rotate();
    await secrets.rotate(1);
    await rotate();
    await secrets.encrypt(2, 'deploy.hook', 1, 1, 'x');
    await remove(first);
    await disable(second);
    const { missing, unreadable } = await checkKeys({ kms, em: orm.em });
    expect(missing.sort()).toEqual([first, second].sort());
    expect(unreadable).toMatchObject([{ organization_id: 1, kek_id: second, fault: 'disabled_key' }]);
  });

  it('finds a data key that does not open', async () => {
    const { secrets, kms } = await setUp();
    await secrets.encrypt(1, 'deploy.hook', 1, 1, 'x');
    const [row] = await rows();
    await orm.em.fork().nativeUpdate(DataKey, {}, { wrapped: row?.wrapped.subarray(0, -1) ?? Buffer.alloc(0) });
    const { missing, unreadable } = await checkKeys({ kms, em: orm.em });
    expect(missing).toEqual([]);
    expect(unreadable).toMatchObject([{ organization_id: 1, data_key_id: row?.id, fault: 'not_authentic' }]);
  });

  it('does not call keys bad when the provider does not answer', async () => {
    const { secrets, kms } = await setUp();
    await secrets.encrypt(1, 'deploy.hook', 1, 1, 'x');
    vi.spyOn(kms, 'unwrap').mockRejectedValue(new KeyError('unavailable', 'connection refused'));
    await expect(checkKeys({ kms, em: orm.em })).rejects.toThrow('connection refused');
  });
});
