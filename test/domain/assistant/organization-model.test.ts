import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { type Browser, makePerson, signedIn } from '../../support/browser.ts';
import { type ModelServer, startModelServer } from '../../support/model-server.ts';

let app: TestApp;
/** The operator's model, and one at another origin. */
let usual: ModelServer;
let other: ModelServer;
let owner: Browser;
let editor: Browser;

beforeAll(async () => {
  [usual, other] = await Promise.all([startModelServer(), startModelServer()]);
  app = await startTestApp({
    PORTICO_ASSISTANT_URL: usual.url,
    PORTICO_ASSISTANT_MODEL: 'operators',
    PORTICO_ASSISTANT_KEY: 'key-of-the-operator',
    PORTICO_ASSISTANT_ORG_URL: 'on',
    PORTICO_ALLOWED_CIDRS: '127.0.0.0/8',
  });
  owner = await signedIn(app, await makePerson(app, { email: 'olga@example.org', role: 'owner' }));
  editor = await signedIn(app, await makePerson(app, { email: 'ed@example.org', role: 'editor' }));
});
const given = () => app.services.models;
let models: ReturnType<typeof given>;
beforeAll(() => {
  models = given();
});
afterEach(async () => {
  app.services.models = models;
  await app.services.assistant.replies.settled();
  await update({ provider: null, url: null, model: null, key: null });
  for (const { script, questions } of [usual, other]) for (const list of [script, questions]) list.length = 0;
});
afterAll(async () => {
  await app?.stop();
  await Promise.all([usual?.close(), other?.close()]);
});

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
type Any = any;

const fields = 'provider url model has_key problem usual { provider model } own_addresses';

async function update(input: object, browser = owner): Promise<Any> {
  const { body } = await browser.graphql(
    `mutation ($input: UpdateAssistantModelInput) { updateAssistantModel(organization: "acme", input: $input) { ${fields} } }`,
    { input },
  );
  return body.data?.updateAssistantModel ?? body.errors[0];
}

async function read(browser = owner): Promise<Any> {
  const { body } = await browser.graphql(`{ organization(organization: "acme") { assistant_model { ${fields} } } }`);
  return body.data?.organization?.assistant_model ?? body.errors[0];
}

const at = 'organization: "acme", project: "site"';

/** Writes to the assistant as an editor. @returns the conversation after the reply, or the refusal */
async function say(): Promise<Any> {
  const made = await editor.graphql(`mutation { createConversation(${at}) { id } }`);
  const { id } = made.body.data.createConversation;
  const sent = await editor.graphql(
    `mutation { sendMessage(${at}, input: { conversation: "${id}", text: "Hello" }) { state } }`,
  );
  if (sent.body.errors) return sent.body.errors[0];
  await app.services.assistant.replies.settled();
  const shown = await editor.graphql(
    `{ project(${at}) { studio { assistant { model } conversation(id: "${id}") { problem messages { text } } } } }`,
  );
  const { assistant, conversation } = shown.body.data.project.studio;
  return { ...conversation, model: assistant.model };
}

const keysOf = ({ questions }: ModelServer) => questions.map(({ headers }) => headers.authorization);
const fieldOf = (refusal: Any) => refusal.extensions?.details?.errors?.[0]?.field;

describe("an organisation's model", () => {
  it("is the server's until the organisation sets one", async () => {
    expect(await read()).toEqual({
      ...{ provider: null, url: null, model: null, has_key: false, problem: null, own_addresses: true },
      usual: { provider: 'openai', model: 'operators' },
    });
    expect(await say()).toMatchObject({ problem: null, model: 'operators' });
    expect(keysOf(usual)).toEqual(['Bearer key-of-the-operator']);
    expect(usual.questions[0]?.body.model).toBe('operators');
  });

  it('is used with its own key, which is stored sealed and never shown', async () => {
    expect(await update({ model: 'ours', key: 'key-of-acme' })).toMatchObject({
      model: 'ours',
      has_key: true,
      url: null,
    });
    usual.script.push((response, _question) => void response.writeHead(401).end('no such key: key-of-acme'));
    expect((await say()).problem).toContain('the key in the settings of the organisation');
    expect(await say()).toMatchObject({ problem: null, model: 'ours' });
    expect(keysOf(usual)).toEqual(['Bearer key-of-acme', 'Bearer key-of-acme']);
    expect(usual.questions[1]?.body.model).toBe('ours');
    const em = app.services.orm.em.fork();
    const stored = await em.execute(`select key, key_origin from organization_model`);
    expect(stored).toEqual([{ key: expect.any(String), key_origin: new URL(usual.url).origin }]);
    const rows = await em.execute(`select changes from audit where action = 'assistant.updateModel'`);
    const everywhere = JSON.stringify([stored, rows, app.log, await read()]);
    expect(everywhere).toContain('"model":"ours"');
    expect(everywhere).not.toContain('key-of-acme');
    expect(everywhere).not.toContain('key-of-the-operator');
  });

  it("does not spend the server's key on another model", async () => {
    expect(fieldOf(await update({ model: 'dearer' }))).toBe('/key');
    expect(fieldOf(await update({ provider: 'anthropic' }))).toBe('/key');
    expect(await read()).toMatchObject({ model: null });
  });

  it("is reached at an address of its own, without the server's key", async () => {
    expect(fieldOf(await update({ url: other.url }))).toBe('/model');
    expect(await update({ url: `${other.url}/`, model: 'local' })).toMatchObject({ url: other.url, has_key: false });
    expect(await say()).toMatchObject({ problem: null, model: 'local' });
    expect(keysOf(other)).toEqual([undefined]);
    expect(usual.questions).toEqual([]);
  });

  it('sends its key to no other address than the one it was given for', async () => {
    await update({ url: other.url, model: 'ours', key: 'key-of-acme' });
    expect(fieldOf(await update({ url: usual.url }))).toBe('/key');
    expect(fieldOf(await update({ url: null }))).toBe('/key');
    // Another path of the same origin.
    expect(await update({ url: `${other.url}/v2` })).toMatchObject({ url: `${other.url}/v2`, has_key: true });
    expect(await update({ url: usual.url, key: 'another-key' })).toMatchObject({ url: usual.url, has_key: true });
    expect(await say()).toMatchObject({ problem: null });
    expect(keysOf(usual)).toEqual(['Bearer another-key']);
    expect(other.questions).toEqual([]);
    // The server's own address has changed since.
    await update({ url: null, key: 'key-for-the-server' });
    app.services.models = { ...models, usual: models.usual && { ...models.usual, url: other.url } };
    expect((await read()).problem).toContain('given for another address');
    expect((await say()).message).toContain('given for another address');
    expect(keysOf(other)).toEqual([]);
  });

  it('may have no address in a private network', async () => {
    for (const url of ['http://10.1.2.3/v1', 'http://[::ffff:10.1.2.3]/v1', 'http://169.254.169.254/'])
      expect(fieldOf(await update({ url, model: 'inner' })), url).toBe('/url');
    for (const url of ['ftp://models.test/', 'http://me:pw@127.0.0.1/v1', 'http://127.0.0.1/v1?a=1'])
      expect(fieldOf(await update({ url, model: 'inner' })), url).toBe('/url');
    // A name that has come to lead there since.
    await update({ url: other.url, model: 'inner' });
    await app.services.orm.em.fork().execute(`update organization_model set url = 'http://10.1.2.3/v1'`);
    expect((await say()).problem).toBe('The address of the model is in a network that organisations may not reach');
  });

  it('has no address of its own where the server does not allow it', async () => {
    await update({ url: other.url, model: 'ours' });
    app.services.models = { ...models, ownAddresses: false };
    expect(fieldOf(await update({ url: other.url, model: 'more' }))).toBe('/url');
    expect((await say()).message).toContain('must be left out');
    expect([...usual.questions, ...other.questions]).toEqual([]);
    expect(await update({ url: null, model: null })).toMatchObject({ url: null, model: null, own_addresses: false });
  });

  it('is set up where the server has none', async () => {
    app.services.models = { ...models, usual: null };
    expect((await say()).message).toContain('PORTICO_ASSISTANT_MODEL');
    expect(fieldOf(await update({ model: 'ours' }))).toBe('/url');
    await update({ url: other.url, model: 'ours', key: 'key-of-acme' });
    expect(await read()).toMatchObject({ usual: null, problem: null });
    expect(await say()).toMatchObject({ problem: null, model: 'ours' });
    expect(keysOf(other)).toEqual(['Bearer key-of-acme']);
  });

  it('is for who manages the organisation to see and to change', async () => {
    expect((await read(editor)).extensions.code).toBe('FORBIDDEN');
    expect((await update({ model: 'ours', key: 'k' }, editor)).extensions.code).toBe('FORBIDDEN');
  });
});

it('is not changed by a session that has ended while the name of its address was looked up', async () => {
  const admin = await signedIn(app, await makePerson(app, { email: 'ann@example.org', role: 'owner' }));
  const { http } = app.services;
  const check = http.check.bind(http);
  const spy = vi.spyOn(http, 'check').mockImplementationOnce(async (...args) => {
    await admin.graphql('mutation { signOut { message } }');
    return check(...args);
  });
  const refused = await update({ url: other.url, model: 'mine' }, admin);
  spy.mockRestore();
  expect(refused.extensions.code).toBe('UNAUTHENTICATED');
  expect((await read()).url).toBeNull();
});
