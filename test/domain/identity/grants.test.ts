import { beforeAll, describe, expect, it } from 'vitest';
import { listen } from '../../../src/db/listener.ts';
import { authenticateToken } from '../../../src/domain/identity/authenticate.ts';
import { grantChannel } from '../../../src/domain/identity/grant-cache.ts';
import { createToken, revokeToken } from '../../../src/domain/identity/tokens.operations.ts';
import { createProject } from '../../../src/domain/projects/projects.operations.ts';
import { permissionNames, presets } from '../../../src/kernel/actor.ts';
import { run } from '../../../src/kernel/run.ts';
import type { RightsOf } from '../../../src/kernel/services.ts';
import { systemCall } from '../../../src/server/first-run.ts';
import { acme, shared, startTestApp } from '../../support/app.ts';
import fc from '../../support/properties.ts';

const app = shared(startTestApp);
beforeAll(async () => {
  for (const name of ['one', 'two']) await app.run(createProject, { organization: 'acme', name });
});

const someOf = <T>(all: readonly T[]) => fc.uniqueArray(fc.constantFrom(...all), { minLength: 1 });
const projectSet = fc.option(someOf(['site', 'one', 'two']), { nil: undefined });

/** Makes a token as another token would. @returns what came of it: the grant, or the code of the refusal */
async function makeAs(token: string, draft: object): Promise<{ token?: string; code?: string }> {
  const actor = await authenticateToken(app.services, token);
  if (!actor) throw new Error('the maker is not authenticated');
  try {
    return (await run(createToken, systemCall(app.services, actor), { organization: 'acme', name: 'T', ...draft })) as {
      token: string;
    };
  } catch (error) {
    return { code: (error as { code: string }).code };
  }
}

describe('callers cannot grant what they lack', () => {
  it('by permissions and projects, over any sets', async () => {
    await fc.assert(
      fc.asyncProperty(
        someOf(permissionNames),
        projectSet,
        someOf(permissionNames),
        projectSet,
        async (held, mine, wanted, theirs) => {
          const permissions = [...new Set([...held, 'manage_organization' as const])];
          const maker = await app.makeToken(permissions, mine && { projects: mine });
          const made = await makeAs(maker, { permissions: wanted, ...(theirs && { projects: theirs }) });
          const mayGrant = wanted.every((name) => permissions.includes(name));
          const mayReach = !mine || (theirs?.every((name) => mine.includes(name)) ?? false);
          expect(made.code).toBe(mayGrant && mayReach ? undefined : 'forbidden');
          if (!made.token) return;
          const grant = (await authenticateToken(app.services, made.token))?.grantFor(1);
          expect([...(grant?.permissions ?? [])].sort()).toEqual([...wanted].sort());
          expect(grant?.projects?.size).toBe(theirs?.length);
          expect(grant?.owner).toBe(false);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('by presets', async () => {
    await fc.assert(
      fc.asyncProperty(
        someOf(permissionNames),
        fc.constantFrom('owner', 'admin', 'editor', 'readonly'),
        async (held, preset) => {
          const permissions = [...new Set([...held, 'manage_organization' as const])];
          const made = await makeAs(await app.makeToken(permissions), { preset });
          const may = presets[preset].every((name) => permissions.includes(name));
          expect(made.code).toBe(may ? undefined : 'forbidden');
        },
      ),
      { numRuns: 20 },
    );
  });

  it('without manage_organization nothing at all', async () => {
    const maker = await app.makeToken(permissionNames.filter((name) => name !== 'manage_organization'));
    expect(await makeAs(maker, { permissions: ['browse_studio'] })).toEqual({ code: 'forbidden' });
  });

  it('not with a grant that was good when it was cached', async () => {
    const maker = await app.makeToken(permissionNames);
    const actor = await authenticateToken(app.services, maker);
    await app.services.orm.em
      .fork()
      .execute(
        "update token set permissions = '[\"manage_organization\"]' where hash = encode(sha256(?::bytea), 'hex')",
        [maker],
      );
    const call = systemCall(app.services, actor as never);
    const made = run(createToken, call, { organization: 'acme', name: 'T', permissions: ['browse_studio'] });
    await expect(made).rejects.toMatchObject({ code: 'forbidden' });
  });
});

describe('a revocation', () => {
  it('holds at once in the process that made it, before any notification', async () => {
    app.services.grants.setListening(true);
    const { body } = await app.ask('POST', `${acme}/tokens`, {
      body: { name: 'T', permissions: ['browse_organization'] },
    });
    expect((await app.ask('GET', acme, { token: body.token })).status).toBe(200);
    await app.ask('DELETE', `${acme}/tokens/${body.id}`);
    expect((await app.ask('GET', acme, { token: body.token })).status).toBe(401);
    await app.ask('PATCH', acme, { body: { name: 'Renamed' } });
    expect((await app.ask('GET', acme)).body.name).toBe('Renamed');
    app.services.grants.setListening(false);
  });

  it('reaches a process that has the grant cached', async () => {
    const { grants, log } = app.services;
    const [{ url }] = (await app.services.orm.em.fork().execute('select current_database() as url')) as [
      { url: string },
    ];
    const address = new URL(app.services.orm.config.get('clientUrl') ?? '');
    address.pathname = `/${url}`;
    const channels = { [grantChannel]: (payload: string) => grants.evict(payload as RightsOf) };
    const listener = listen({ url: address.href, log, channels, onState: (on) => grants.setListening(on) });
    try {
      await listener.ready;
      const { token = '' } = await makeAs(app.token, { permissions: ['browse_organization'] });
      expect((await app.ask('GET', acme, { token })).status).toBe(200);
      const [row] = (await app.services.orm.em.fork().execute('select max(id) as id from token')) as { id: number }[];
      await app.run(revokeToken, { organization: 'acme', token_id: String(row?.id) });
      await expect.poll(async () => (await app.ask('GET', acme, { token })).status).toBe(401);
    } finally {
      await listener.close();
    }
  });
});
