import { expect, it } from 'vitest';
import { createUpkeep } from '../../src/jobs/upkeep.ts';
import { acme, shared, startTestApp } from '../support/app.ts';
import { noteHeldConnections } from '../support/held-connections.ts';

const app = shared(() => startTestApp({ PORTICO_DATABASE_POOL: '2' }));

it('answers requests while all upkeep begins at once, with the fewest connections there can be', async () => {
  const held = await noteHeldConnections(app.services.orm);
  // Every task of the night is due, and those of ten minutes.
  app.clock.now = new Date('2026-11-23T23:00:00Z');
  const upkeep = createUpkeep(app.services, 365);
  const beats = upkeep.beat(10);
  const answers = await Promise.all(Array.from({ length: 4 }, () => app.ask('GET', `${acme}/projects`)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  await beats;
  await upkeep.end();
  expect(held).toEqual([]);
  expect(app.log.filter((line) => line.includes('upkeep failed'))).toEqual([]);
});
