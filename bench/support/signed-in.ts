import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser, BrowserContext } from 'playwright-core';
import { check } from '../benchmark.ts';
import type { RunningServer } from './server.ts';

const person = { name: 'Hazel', email: 'hazel@example.org', password: 'correct horse battery' };

/** Makes the first account, which owns what the fixture made. @returns a context in which it is signed in */
export async function signedIn(chrome: Browser, { url }: RunningServer, dataDir: string): Promise<BrowserContext> {
  const { setup_url } = JSON.parse(await readFile(path.join(dataDir, 'first-run.json'), 'utf8')) as {
    setup_url: string;
  };
  const context = await chrome.newContext();
  const page = await context.newPage();
  await page.goto(`${url}/sign-in`);
  const status = await page.evaluate(
    async ({ input }) => {
      const query = 'mutation ($input: SetupInput!) { setup(input: $input) { organization } }';
      const headers = { 'Content-Type': 'application/json' };
      const answer = await fetch('/graphql', {
        method: 'POST',
        headers,
        body: JSON.stringify({ query, variables: { input } }),
      });
      return (await answer.json()) as { data: { setup: object | null } };
    },
    { input: { ...person, organization_name: 'Own', keep_demo: true, secret: setup_url.split('#')[1] ?? '' } },
  );
  check(status.data.setup !== null, 'The first account was not made');
  await page.close();
  return context;
}
