import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { type Browser, goodPassword, openBrowser, secretOf } from '../support/browser.ts';
import { type ModelAnswer, startModelServer } from '../support/model-server.ts';
import { demoDataDir, kill, readFirstRun, startServer } from '../support/server-process.ts';

const at = 'organization: "demo", project: "site"';
/** Entries the assistant makes, one a step. */
const wanted = 20;
/** What the demo's authors have besides. */
const author = { role: { en: 'Writer', de: 'Autorin' }, bio: { en: 'Writes.', de: 'Schreibt.' }, color: '#336699' };
/** Milliseconds after a step of the model has begun at which the server is killed: before its call, within it, behind it. */
const moments = [5, 40];

async function mutate(browser: Browser, name: string, type: string, input: object) {
  const { body } = await browser.graphql(`mutation ($input: ${type}!) { ${name}(${at}, input: $input) { id } }`, {
    input,
  });
  if (body.errors) throw new Error(JSON.stringify(body.errors));
  return body.data[name].id as string;
}

/** The conversation as it is, once the assistant has replied. */
async function settled(browser: Browser, id: string) {
  const query = `{ project(${at}) { studio { conversation(id: "${id}") { state problem branch messages { role text complete } calls { state result commit_sha } } } } }`;
  for (;;) {
    const { body } = await browser.graphql(query);
    const found = body.data?.project?.studio?.conversation;
    if (found?.state === 'idle') return found;
    await delay(100);
  }
}

test('kill -9 in a reply of the assistant loses nothing, and repeats no command', async () => {
  const model = await startModelServer();
  onTestFinished(() => model.close());
  const { dataDir, token } = await demoDataDir();
  const environment = { PORTICO_ASSISTANT_URL: model.url, PORTICO_ASSISTANT_MODEL: 'scripted' };
  let server = await startServer(dataDir, environment);
  const { setup_url = '' } = await readFirstRun(dataDir);
  const setUp = openBrowser(server);
  await setUp.graphql('mutation ($input: SetupInput!) { setup(input: $input) { user { id } } }', {
    input: {
      ...{ secret: secretOf(setup_url), email: 'ada@example.org', name: 'Ada', password: goodPassword },
      ...{ organization_name: 'Acme', keep_demo: true },
    },
  });
  const browserOf = ({ url }: { url: string }) => openBrowser({ url }, setUp.cookie);
  const id = await mutate(browserOf(server), 'createConversation', 'CreateConversationInput', {});

  let requested = () => {};
  /** Goes by what the model has been given, since a step that was cut off comes again. */
  const answer = ({ body }: { body: { messages: { role: string }[] } }): ModelAnswer => {
    requested();
    const made = body.messages.filter(({ role }) => role === 'tool').length;
    if (made === wanted) return { texts: ['All are there.'] };
    const given = {
      collection: 'authors',
      slug: `made-${made + 1}`,
      frontmatter: { name: `Made ${made + 1}`, ...author },
    };
    return { texts: [`Number ${made + 1}.`], calls: [{ name: 'create_entry', arguments: given }] };
  };
  model.script = Array.from({ length: 200 }, () => answer);
  await mutate(browserOf(server), 'sendMessage', 'SendMessageInput', { conversation: id, text: 'Make twenty' });
  for (const moment of moments) {
    // In one of its steps, not always the first after the start.
    for (let step = 0; step < 2; step += 1)
      await new Promise<void>((resolve) => {
        requested = resolve;
      });
    await delay(moment);
    await kill(server.child);
    server = await startServer(dataDir, environment);
  }
  const { problem, branch, messages, calls } = await settled(browserOf(server), id);
  expect(problem).toBeNull();
  expect(messages.at(-1)).toEqual({ role: 'assistant', text: 'All are there.', complete: true });
  expect(messages.every(({ complete }: { complete: boolean }) => complete)).toBe(true);
  expect(calls).toHaveLength(wanted);
  expect(calls.filter(({ state }: { state: string }) => state !== 'done')).toEqual([]);

  // biome-ignore lint/suspicious/noExplicitAny: a comparison
  const read = async (path: string): Promise<any> => {
    const answer = await fetch(`${server.url}/api/v2/organizations/demo/projects/site/studio/${path}`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    return answer.json();
  };
  const { files, commits } = await read(`compare?base=main&head=${branch}&per_page=100`);
  expect(files.map(({ path }: { path: string }) => path).sort()).toEqual(
    Array.from({ length: wanted }, (_, n) => `src/content/authors/made-${n + 1}.yaml`).sort(),
  );
  const trailers = commits.map(({ message }: { message: string }) => /^Assistant-Call: (\S+)$/m.exec(message)?.[1]);
  expect(new Set(trailers).size).toBe(wanted);
  expect(commits).toHaveLength(wanted);
  expect(new Set(calls.map(({ commit_sha }: { commit_sha: string }) => commit_sha)).size).toBe(wanted);
});
