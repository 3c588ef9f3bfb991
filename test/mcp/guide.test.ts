import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { permissionNames } from '../../src/kernel/actor.ts';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { commandsOf } from '../support/guides.ts';
import { siteFiles } from '../support/site-files.ts';

const run = promisify(execFile);

const app = shared(startTestApp);
beforeAll(() => seed(app, siteFiles));

it('the commands of the guide change a title on a branch, and propose it', async () => {
  const environment = { MCP: `${app.url}/mcp`, TOKEN: await app.makeToken(permissionNames), ENTRY: 'en/alpha' };
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', await commandsOf('mcp', 'With curl')], {
    env: { ...process.env, ...environment },
  });
  const results = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).result);
  expect(results.map(({ isError }) => isError === true)).toEqual([...Array(6).fill(false), true]);
  expect(results[6].content[0].text).toContain('confirm: "delete posts/en/alpha at ');
  const { body } = await app.ask('GET', `${studio}/pulls`);
  expect(body).toMatchObject([{ title: 'A better title', head: { ref: 'retitle' }, base: { ref: 'main' } }]);
});
