import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { permissionNames } from '../../src/kernel/actor.ts';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { assistantTasks, expectDone, extraFiles, type Json, takesBranch } from '../support/assistant-tasks.ts';
import { callTool, connectClient } from '../support/mcp-client.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(startTestApp);
let client: Client;
const requested: string[] = [];
beforeAll(async () => {
  await seed(app, { ...siteFiles, ...extraFiles });
  // It may not publish, and its person agrees to everything.
  const token = await app.makeToken(permissionNames.filter((name) => !name.startsWith('manage_')));
  client = await connectClient(app, token, (message) => {
    requested.push(message);
    return true;
  });
});
afterAll(async () => {
  await client?.close();
});

it.each(assistantTasks.map((task, at) => ({ ...task, branch: `task-${at + 1}` })))(
  'a client $title',
  async ({ act, files, branch }) => {
    const main = (await app.ask('GET', `${studio}/branches/main`)).body.commit;
    const tool = async (name: string, given: object = {}): Promise<Json> => {
      const { isError, content, text } = await callTool(client, name, {
        ...(takesBranch(name) && { branch }),
        ...given,
      });
      expect(isError, `${name}: ${text}`).toBe(false);
      return content;
    };
    await tool('create_branch', { name: branch });
    await act(tool, async () => branch);
    await expectDone(app, branch, { files });
    expect((await app.ask('GET', `${studio}/branches/main`)).body.commit).toBe(main);
  },
);

it('confirmation is requested before something is deleted, and at no other time', () => {
  expect(requested).toEqual([
    expect.stringMatching(/^Delete an entry: delete posts\/de\/alpha at [0-9a-f]{7} from task-9\?$/),
  ]);
});
