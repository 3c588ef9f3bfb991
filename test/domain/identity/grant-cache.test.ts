import { beforeEach, describe, expect, it } from 'vitest';
import { GrantCache, type TokenGrant } from '../../../src/domain/identity/grant-cache.ts';
import type { OrganizationRef } from '../../../src/domain/organizations/organization.entity.ts';
import { studioSettings } from '../../../src/domain/projects/project.entity.ts';

const grant = (id: number, organization_id = 1): TokenGrant => ({
  id,
  organization_id,
  name: 'T',
  permissions: [],
  projects: null,
  mcp: { publish: false, all_operations: false },
  expires_at: null,
});

const organization: OrganizationRef = {
  id: 1,
  machine_name: 'a',
  name: 'A',
  type: null,
  region: null,
  subscription: null,
  limits: {},
  created_at: new Date(0),
  updated_at: new Date(0),
};

let cache: GrantCache;
let loads: number;
const ask = (value: TokenGrant | null = grant(1)) =>
  cache.token('hash', async () => {
    loads += 1;
    return value;
  });
beforeEach(() => {
  cache = new GrantCache();
  loads = 0;
});

describe('the cache of grants', () => {
  it('queries once while it receives notifications', async () => {
    cache.setListening(true);
    expect([await ask(), await ask()]).toEqual([grant(1), grant(1)]);
    expect(loads).toBe(1);
  });

  it('caches nothing before it listens, nor after the connection is lost', async () => {
    await ask();
    await ask();
    expect(loads).toBe(2);
    cache.setListening(true);
    await ask();
    cache.setListening(false);
    await ask();
    await ask();
    expect(loads).toBe(5);
  });

  it('forgets all that was read while it was disconnected', async () => {
    cache.setListening(true);
    await ask();
    cache.setListening(false);
    cache.setListening(true);
    await ask();
    expect(loads).toBe(2);
  });

  it('forgets an organisation on request, and no other', async () => {
    cache.setListening(true);
    await ask();
    cache.evict('organization:2');
    await ask();
    expect(loads).toBe(1);
    cache.evict('organization:1');
    await ask();
    expect(loads).toBe(2);
  });

  it('does not keep a row that was read before the notification and came after it', async () => {
    cache.setListening(true);
    let answer = (_value: TokenGrant) => {};
    const slow = cache.token('hash', () => new Promise((resolve) => (answer = resolve)));
    cache.evict('organization:1');
    answer(grant(1));
    expect(await slow).toEqual(grant(1));
    await ask();
    expect(loads).toBe(1);
  });

  it('does not remember that there is none', async () => {
    cache.setListening(true);
    expect(await ask(null)).toBeNull();
    expect(await ask()).toEqual(grant(1));
  });

  it('keeps organisations and projects apart by name and owner', async () => {
    cache.setListening(true);
    const project = (id: number, organization_id: number) => async () => ({
      id,
      uuid: '',
      organization_id,
      machine_name: 'a',
      name: 'A',
      settings: studioSettings(null),
      is_mirror: false,
    });
    expect((await cache.project(1, 'a', project(10, 1))).id).toBe(10);
    expect((await cache.project(2, 'a', project(20, 2))).id).toBe(20);
    expect(await cache.organization('a', async () => organization)).toBe(organization);
    cache.evict('organization:1');
    expect((await cache.project(2, 'a', project(99, 2))).id).toBe(20);
    expect((await cache.project(1, 'a', project(11, 1))).id).toBe(11);
  });

  it('has the last use of a token written once a minute', () => {
    const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
    expect([0, 30, 59, 60, 61, 120].map((second) => cache.useIsDue('token:1', at(second)))).toEqual([
      true,
      false,
      false,
      true,
      false,
      true,
    ]);
    expect(cache.useIsDue('token:2', at(61))).toBe(true);
  });
});
