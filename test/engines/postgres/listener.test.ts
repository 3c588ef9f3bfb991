import { expect, inject, test, vi } from 'vitest';
import { listen } from '../../../src/db/listener.ts';
import type { Log } from '../../../src/ports/log.ts';
import { openLine } from '../../support/database-line.ts';

const log: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => log };
const listenOn = (url: string) => listen({ url, log, channels: {}, onState() {} });

test('ends while the database says nothing any longer', async () => {
  const { url, sockets, cut } = await openLine(inject('databaseUrl'));
  const listener = listenOn(url);
  await listener.ready;
  cut();
  await listener.close();
  await vi.waitFor(() => expect(sockets[0]?.readableEnded || sockets[0]?.destroyed).toBe(true), { timeout: 30_000 });
});

test('ends while the database has not said anything yet', async () => {
  const { url, sockets, cut } = await openLine(inject('databaseUrl'));
  cut();
  const listener = listenOn(url);
  await vi.waitFor(() => expect(sockets.length).toBeGreaterThan(0), { timeout: 30_000 });
  await listener.close();
  await listener.ready;
});
