import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { currentCaller } from '../../src/lib/concurrency.ts';
import { tally } from '../../src/ports/tally.ts';
import type { TestApp } from './app.ts';

const textOf = (given: unknown) =>
  String((given as { text?: unknown }).text ?? given)
    .trim()
    .replaceAll(/\s+/g, ' ');

/** The statements this process sends to its databases during some work. @param counts whether one does, looked at when it is sent */
async function statementsDuring(work: () => Promise<unknown>, counts = () => true): Promise<string[]> {
  const statements: string[] = [];
  const note = (given: unknown) => void (counts() && statements.push(textOf(given)));
  subscribe(tally.statement.name, note);
  try {
    await work();
  } finally {
    unsubscribe(tally.statement.name, note);
  }
  return statements;
}

/** The statements of operations that are requested with tokens, during some work: what the background does meanwhile is left out. */
export const requestedDuring = (work: () => Promise<unknown>): Promise<string[]> =>
  statementsDuring(work, () => currentCaller().startsWith('token:'));

/**
 * The statements behind one GraphQL request that succeeds, authentication aside: rights and names of places are remembered, as in a process that
 * receives notifications. What the background adds now and then is left out by asking several times.
 */
export async function statementsOf(app: TestApp, query: string, variables: object = {}): Promise<string[]> {
  const ask = async () => {
    const { body } = await app.ask('POST', '/graphql', { body: { query, variables } });
    if (body.errors) throw new Error(JSON.stringify(body.errors));
  };
  app.services.grants.setListening(true);
  try {
    await ask();
    await app.services.studio.content.settled();
    const each = [];
    for (let time = 0; time < 3; time += 1) each.push(await statementsDuring(ask));
    return each.reduce((least, statements) => (statements.length < least.length ? statements : least));
  } finally {
    app.services.grants.setListening(false);
  }
}
