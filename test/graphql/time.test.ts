import { beforeEach, expect, it, vi } from 'vitest';
import { shared } from '../support/app.ts';
import { graphqlApp } from '../support/graphql-app.ts';

const app = shared(() => graphqlApp({ timeLimits: { query: 0.3, mutation: 6 } }));

beforeEach(() => {
  app.delay = 0;
  app.reset();
});

const twoCommands = `mutation {
  a: updateOrganization(organization: "acme", input: { region: "one" }) { name }
  b: updateOrganization(organization: "acme", input: { region: "two" }) { name }
}`;

/** Waits until the first command has ended, and long enough for a second one to show. */
async function onlyOneRan(): Promise<void> {
  const ran = () => app.operations.filter((name) => name === 'organizations.updateOrganization');
  await vi.waitFor(() => expect(ran()).toHaveLength(1), { timeout: 60_000 });
  app.delay = 0;
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(ran()).toHaveLength(1);
}

it('a query ends with its time', async () => {
  app.delay = 400;
  const { body } = await app.query('{ organizations { total_count } }');
  expect(body.errors[0]).toMatchObject({
    message: 'The request took longer than 0.3 s and was given up',
    extensions: { code: 'LIMIT_EXCEEDED', reason: 'request_timeout' },
  });
});

it('commands have more time; those that follow its end are not begun', async () => {
  // The first begins well within its time, on a busy machine too, and cannot end in it.
  app.delay = 1_500;
  const { body } = await app.query(twoCommands);
  expect(body.data).toEqual({ a: null, b: null });
  expect(body.errors).toMatchObject(
    Array(2).fill({
      message: 'The request took longer than 6 s and was given up',
      extensions: { reason: 'request_timeout' },
    }),
  );
  const refused = await app.services.orm.em
    .fork()
    .execute("select outcome from audit where changes ->> 'region' = 'two'");
  expect(refused).toEqual([{ outcome: 'failed' }]);
  await onlyOneRan();
});

it('no time is spent on a client that went away', async () => {
  app.delay = 60;
  const controller = new AbortController();
  const requested = app.send('/graphql', {
    method: 'POST',
    token: app.full,
    signal: controller.signal,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: twoCommands }),
  });
  const refused = expect(requested).rejects.toThrow();
  // The first statement reads the token, the second begins the command.
  await vi.waitUntil(() => app.statements.length >= 2, { timeout: 60_000, interval: 5 });
  controller.abort();
  await refused;
  await onlyOneRan();
});
