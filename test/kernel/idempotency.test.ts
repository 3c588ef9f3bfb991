import type { EntityManager } from '@mikro-orm/postgresql';
import { expect, it, vi } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { outliveSetbacks } from '../../src/jobs/upkeep.ts';
import { permissionNames, systemActor } from '../../src/kernel/actor.ts';
import { DomainError } from '../../src/kernel/errors.ts';
import { run } from '../../src/kernel/run.ts';
import { systemCall } from '../../src/server/first-run.ts';
import { shared, startTestApp } from '../support/app.ts';

const app = shared(startTestApp);

const claimKey = (key: string) =>
  app.services.idempotency.claim({
    actor: 'system:test',
    operation: 'test.operation',
    place: '',
    key,
    input: { a: 1 },
  });

it('a call whose key another one has taken over neither frees it nor answers for it', async () => {
  const claim = () => claimKey('one');
  app.clock.now = new Date();
  const slow = await claim();
  app.clock.now = new Date(app.clock.now.getTime() + 151_000);
  const next = await claim();
  await slow?.release();
  await expect(claim()).rejects.toMatchObject({ code: 'busy' });
  await slow?.complete({ output: 'of the slow one', etag: undefined });
  await expect(claim()).rejects.toMatchObject({ code: 'busy' });
  await next?.complete({ output: 'of the next one', etag: undefined });
  expect((await claim())?.replay).toEqual({ output: 'of the next one', etag: null });
});

it('after the clock was set back, a key of a process that died is free when its lease is over, and one still held is completed', async () => {
  const began = Date.now();
  app.clock.now = new Date(began);
  await outliveSetbacks(app.services);
  await claimKey('lost');
  const held = await claimKey('held');
  app.clock.now = new Date(began - 3_600_000);
  await outliveSetbacks(app.services);
  await expect(claimKey('lost')).rejects.toMatchObject({ code: 'busy' });
  await held?.complete({ output: 'done', etag: undefined });
  app.clock.now = new Date(began - 3_600_000 + 151_000);
  expect((await claimKey('lost'))?.replay).toBeNull();
  expect((await claimKey('held'))?.replay).toEqual({ output: 'done', etag: null });
});

it('an answer is durable with what its command has done, in one transaction', async () => {
  const actor = systemActor('test', permissionNames, 'portico.test', true);
  const seen: unknown[] = [];
  const call = {
    ...systemCall(app.services, actor),
    conditions: { idempotency_key: 'together' },
    inTransaction: async (em: EntityManager): Promise<void> => {
      seen.push(...(await em.execute(`select completed from idempotency_key where key = 'together'`)));
      throw new DomainError('unavailable', 'The commit was cut off');
    },
  };
  const create = (given: typeof call) => run(createProject, given, { organization: 'acme', name: 'Together' });
  await expect(create(call)).rejects.toMatchObject({ code: 'unavailable' });
  expect(seen).toEqual([{ completed: true }]);
  const again = { ...call, inTransaction: async () => {} };
  const made = await create(again);
  expect(await create(again)).toEqual(made);
});

it('a key is free again when a database that was away has come back', async () => {
  const claim = () => claimKey('away');
  const fork = vi.spyOn(app.services.orm.em, 'fork');
  const first = await claim();
  const em = fork.mock.results[0]?.value as EntityManager;
  fork.mockRestore();
  vi.spyOn(em, 'nativeDelete').mockRejectedValueOnce(new DomainError('unavailable', 'away'));
  await first?.release();
  await vi.waitFor(async () => expect((await claim())?.replay).toBeNull(), 30_000);
});
