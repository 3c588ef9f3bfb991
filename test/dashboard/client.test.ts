import { setImmediate } from 'node:timers/promises';
import { createRequest, gql } from '@urql/core';
import { afterEach, expect, it, vi } from 'vitest';
import { client, refresh } from '../../src/dashboard/lib/client.ts';

const page = { query: gql<{ count: number }, object>('query Count { count }'), variables: {} };

/** What has been sent, in order, each to be answered. */
let sent: ((count: number) => void)[] = [];
vi.stubGlobal('location', { href: 'http://portico.example/' });
const send = () =>
  new Promise<Response>((resolve) => {
    sent.push((count) => resolve(Response.json({ data: { count } })));
  });

/** Shows the query. @returns what it shows, and what ends it */
function show() {
  vi.stubGlobal('fetch', send);
  sent = [];
  const shown: (number | undefined)[] = [];
  const { unsubscribe } = client
    .query(page.query, page.variables, { requestPolicy: 'network-only' })
    .subscribe(({ data, stale }) => {
      if (!stale) shown.push(data?.count);
    });
  return { shown, unsubscribe };
}
afterEach(() => {
  vi.unstubAllGlobals();
});

/** Answers a request, once it is there. */
const answer = async (at: number, count: number) => {
  await vi.waitFor(() => expect(sent.length).toBeGreaterThan(at));
  sent[at]?.(count);
};

it('a query is sent again once, and what comes meanwhile is in a later answer', async () => {
  const { shown, unsubscribe } = show();
  await answer(0, 1);
  await vi.waitFor(() => expect(shown).toEqual([1]));
  refresh(page);
  await vi.waitFor(() => expect(sent).toHaveLength(2));
  refresh(page);
  refresh(page);
  await setImmediate();
  expect(sent).toHaveLength(2);
  await answer(1, 2);
  await answer(2, 3);
  await vi.waitFor(() => expect(shown).toEqual([1, 2, 3]));
  expect(sent).toHaveLength(3);
  unsubscribe();
});

it('of a query that is sent again by something else, only the last answer counts', async () => {
  const { shown, unsubscribe } = show();
  await answer(0, 1);
  await vi.waitFor(() => expect(shown).toEqual([1]));
  const again = client.createRequestOperation('query', createRequest(page.query, page.variables), {
    requestPolicy: 'network-only',
  });
  refresh(page);
  await vi.waitFor(() => expect(sent).toHaveLength(2));
  client.reexecuteOperation(again);
  await answer(2, 3);
  await vi.waitFor(() => expect(shown).toEqual([1, 3]));
  await answer(1, 2);
  await setImmediate();
  expect(shown).toEqual([1, 3]);
  unsubscribe();
});

it('a query that was left before its answer is sent when it is shown again', async () => {
  const before = show();
  await vi.waitFor(() => expect(sent).toHaveLength(1));
  refresh(page);
  before.unsubscribe();
  const { shown, unsubscribe } = show();
  await answer(0, 4);
  await vi.waitFor(() => expect(shown).toEqual([4]));
  refresh(page);
  await vi.waitFor(() => expect(sent).toHaveLength(2));
  unsubscribe();
});
