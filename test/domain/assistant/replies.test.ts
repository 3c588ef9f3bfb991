import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  conversationTokens,
  releaseExpired,
  releaseTokens,
  reserveTokens,
  usedTokens,
} from '../../../src/domain/assistant/budget.ts';
import { Conversation } from '../../../src/domain/assistant/conversation.entity.ts';
import { Replies } from '../../../src/domain/assistant/replies/replies.ts';
import type { ReplyLimits } from '../../../src/domain/assistant/replies/reply.ts';
import { Member } from '../../../src/domain/organizations/member.entity.ts';
import { Organization } from '../../../src/domain/organizations/organization.entity.ts';
import { createOrganization, updateOrganization } from '../../../src/domain/organizations/organizations.operations.ts';
import { createModels } from '../../../src/engines/model/model.ts';
import type { Models } from '../../../src/ports/model.ts';
import { seed, shared, startTestApp, studio } from '../../support/app.ts';
import { makePerson, signedIn } from '../../support/browser.ts';
import { type Any, callOf, codeOf, contentOf, conversationsOf } from '../../support/conversations.ts';
import { beginStream, sendEvent, startModelServer, textEvent } from '../../support/model-server.ts';

const model = shared(startModelServer);
const app = shared(() => startTestApp({ PORTICO_ASSISTANT_URL: model.url, PORTICO_ASSISTANT_MODEL: 'scripted' }));
let own: ReturnType<typeof conversationsOf>;
let usual: Replies;
const others: Replies[] = [];

const post = 'content/posts/first.md';
const first = '---\ntitle: First\n---\n\nHello.\n';

beforeAll(async () => {
  own = conversationsOf(app, await signedIn(app, await makePerson(app, { email: 'anna@example.org', role: 'editor' })));
  usual = app.services.assistant.replies;
  await seed(app, {
    [post]: first,
    'content/posts/second.md': '---\ntitle: Second\n---\n',
    'content/posts/wide.md': `---\ntitle: Wide\n---\n\n${'<字'.repeat(20_000)}\n`,
  });
});
afterEach(async () => {
  for (const replies of others.splice(0)) await replies.close();
  app.services.assistant.replies = usual;
  app.clock.now = null;
  model.script.length = 0;
  model.questions.length = 0;
});

/** The replies of another process on the same database. */
function process(limits: Partial<ReplyLimits> = {}): Replies {
  const replies = new Replies(() => app.services, { parallel: 16, ...limits });
  others.push(replies);
  return replies;
}

/** Bounds the replies of this process. */
function bounded(limits: Partial<ReplyLimits>): void {
  app.services.assistant.replies = process(limits);
}

const update = (title: string) =>
  callOf('update_entry', { collection: 'posts', entry: 'first', frontmatter: { title } });
const remove = callOf('delete_entry', { collection: 'posts', entry: 'second' });
const list = (page: number) => callOf('list_collections', { page });
const set = (id: string, changes: Partial<Conversation>) =>
  app.services.orm.em.fork().nativeUpdate(Conversation, { id }, changes);
const headOf = async (branch: string) => (await app.repository()).head(branch);

/** A point that others wait for. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** An answer that begins, and ends once its gate is open. */
function heldAnswer(text: string) {
  const [begun, end] = [gate(), gate()];
  model.script.push(async (response, _question) => {
    beginStream(response);
    begun.open();
    await end.opened;
    sendEvent(response, textEvent(text));
    sendEvent(response, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
    response.end('data: [DONE]\n\n');
  });
  return { begun: begun.opened, end: end.open };
}

describe('limits of a reply', () => {
  it('let it take so many steps and no more, and a new message begins at none', async () => {
    bounded({ steps: 3 });
    const id = await own.begin();
    model.script.push(list(1), list(2), { texts: ['Three steps.'] });
    expect(await own.say(id, 'Look')).toMatchObject({ problem: null });
    model.script.push(list(1), list(2), list(3));
    expect((await own.say(id, 'Look again')).problem).toContain('ended after 3 steps');
    expect(await own.say(id, 'Go on')).toMatchObject({ problem: null });
  });

  it('let a step make so many calls and no more', async () => {
    bounded({ calls: 2 });
    const id = await own.begin();
    const calls = [1, 2, 3].map((page) => ({ name: 'list_collections', arguments: { page } }));
    model.script.push({ calls: calls.slice(0, 2) });
    const two = await own.say(id, 'Look');
    expect([two.problem, two.calls.length]).toEqual([null, 2]);
    model.script.push({ calls });
    const three = await own.say(id, 'Look');
    expect(three.problem).toContain('called 3 tools at once; 2 are the most');
    expect(three.calls).toHaveLength(2);
  });

  it('end it after its time, but for what a person takes to decide', async () => {
    bounded({ time: 1 });
    const id = await own.begin();
    const held = heldAnswer('Late');
    expect((await own.say(id, 'Write')).problem).toContain('after 10 minutes');
    held.end();
    model.script.length = 0;
    bounded({});
    model.script.push(remove, { texts: ['Deleted'] });
    await own.say(id, 'Delete it');
    app.clock.now = new Date(Date.now() + 23 * 3600_000);
    await own.approve(id);
    expect(await own.read(id)).toMatchObject({ state: 'idle', problem: null });
    app.clock.now = null;
    const late = await own.begin();
    model.script.push(remove);
    await own.say(late, 'Delete it');
    await set(late, { active_ms: 600_000 });
    await own.approve(late);
    const { problem, calls } = await own.read(late);
    expect(problem).toContain('after 10 minutes');
    expect(calls).toMatchObject([{ state: 'stopped' }]);
  });

  it('keep what a tool answers below 32 KiB, whatever its characters take', async () => {
    const id = await own.begin();
    const read = (offset: number) =>
      callOf('get_entry', { collection: 'posts', entry: 'wide', offset, length: 20_000 });
    model.script.push(read(0), { texts: ['Read.'] });
    const { calls } = await own.say(id, 'Read it');
    const { body, range, next } = JSON.parse(calls[0].result);
    expect(Buffer.byteLength(calls[0].result)).toBeLessThanOrEqual(32 * 1024);
    expect(body.length).toBeGreaterThan(4_000);
    expect(range).toEqual({ offset: 0, length: body.length, total: 40_001 });
    expect(next).toContain(`offset: ${body.length}`);
  });

  it('let a process work on so many conversations at once; the next one waits', async () => {
    bounded({ parallel: 4 });
    const { replies } = app.services.assistant;
    await replies.begin(false);
    const held = [heldAnswer('One'), heldAnswer('Two')];
    const ids = [await own.begin(), await own.begin(), await own.begin()];
    for (const [at, id] of ids.entries()) {
      await own.mutate('sendMessage', { conversation: id, text: 'Write' });
      await held[at]?.begun;
    }
    await replies.look();
    expect(await own.read(ids[2] ?? '')).toMatchObject({ state: 'running', messages: [{ role: 'user' }] });
    expect(model.questions).toHaveLength(2);
    held[0]?.end();
    await expect.poll(() => own.read(ids[2] ?? '')).toMatchObject({ state: 'idle', problem: null });
    expect(await own.read(ids[1] ?? '')).toMatchObject({ state: 'running' });
    held[1]?.end();
    await replies.settled();
  });

  it('leave others places beside a person and an organisation with many conversations', async () => {
    app.services.assistant.replies = process({ parallel: 0 });
    await app.run(createOrganization, { machine_name: 'other', name: 'Other' });
    const other = await app.services.orm.em.fork().findOneOrFail(Organization, { machine_name: 'other' });
    const ofPerson = async (email: string) => {
      const id = await makePerson(app, { email, role: 'editor' });
      const joined = { created_at: new Date(), joined_at: new Date() };
      const more = { role: 'editor' as const, permissions: [], projects: null, ...joined };
      await app.services.orm.em.fork().insert(Member, { organization_id: other.id, user_id: id, ...more });
      return conversationsOf(app, await signedIn(app, id));
    };
    const [bert, cleo] = [await ofPerson('bert@example.org'), await ofPerson('cleo@example.org')];
    const waiting: string[] = [];
    for (const person of [own, own, own, own, bert, bert, cleo]) {
      const id = await person.begin();
      await person.mutate('sendMessage', { conversation: id, text: 'Write' });
      waiting.push(id);
    }
    await set(waiting[6] ?? '', { organization_id: other.id });
    const held = waiting.map((_, at) => heldAnswer(`${at}`));
    const replies = process({ parallel: 4 });
    await replies.look();
    for (const { begun } of held.slice(0, 4)) await begun;
    const withProcess = async () => {
      const rows = await app.services.orm.em.fork().find(Conversation, { id: { $in: waiting }, holder: { $ne: null } });
      return rows.map(({ id }) => waiting.indexOf(id)).sort();
    };
    expect(await withProcess()).toEqual([0, 1, 4, 6]);
    for (const { end } of held) end();
    await replies.settled();
    expect(model.questions).toHaveLength(7);
    for (const id of waiting.slice(0, 4)) expect(await own.read(id)).toMatchObject({ state: 'idle', problem: null });
  });
});

it('ends with the session of the last request, wherever it goes on, and changes nothing more', async () => {
  const person = await signedIn(app, await makePerson(app, { email: 'dora@example.org', role: 'editor' }));
  const dora = conversationsOf(app, person);
  const id = await dora.begin();
  model.script.push(remove);
  expect(await dora.say(id, 'Delete it')).toMatchObject({ state: 'waiting' });
  const [requested, end] = [gate(), gate()];
  model.script.push(async () => {
    requested.open();
    await end.opened;
    return update('Of a session that has ended');
  });
  const { id: call, arguments_hash, phrase } = (await dora.read(id)).calls[0];
  await dora.mutate('approveTool', { conversation: id, call, arguments_hash, phrase });
  await requested.opened;
  expect((await person.graphql('mutation { signOut { message } }')).body.errors).toBeUndefined();
  end.open();
  await app.services.assistant.replies.settled();
  const row = () => app.services.orm.em.fork().findOneOrFail(Conversation, { id });
  const over = { state: 'idle', problem: 'You have no access to this project any more' };
  const { branch, ...rest } = await row();
  expect(rest).toMatchObject(over);
  expect(await contentOf(app, branch ?? '', post)).toBe(first);
  await set(id, { state: 'running', problem: null });
  const second = process();
  await second.look();
  await second.settled();
  expect(await row()).toMatchObject(over);
});

it('ends with a sentence when the model answers nothing, but for the end of its calls', async () => {
  const id = await own.begin();
  model.script.push({ texts: [] }, list(1), { texts: [] });
  expect((await own.say(id, 'Hello')).problem).toContain('answered nothing');
  expect((await own.say(id, 'Again')).problem).toBeNull();
});

describe('the tokens of a conversation', () => {
  const none = { organization_id: 1, conversation_id: null };

  it('are not counted for a request that the provider refuses', async () => {
    const id = await own.begin();
    model.script.push((response, _question) => void response.writeHead(401).end('{}'));
    expect(await own.say(id, 'Hello')).toMatchObject({ problem: expect.stringContaining('key'), tokens: 0 });
  });

  it('are a million: a message is refused without any, and a reply ends without enough', async () => {
    const id = await own.begin();
    await set(id, { tokens: conversationTokens - 100_000 });
    expect(await own.say(id, 'Hello')).toMatchObject({ problem: null, tokens: conversationTokens - 100_000 + 110 });
    await set(id, { tokens: conversationTokens - 1 });
    expect((await own.say(id, 'Hello')).problem).toContain('has used its tokens');
    await set(id, { tokens: conversationTokens });
    expect(codeOf(await own.mutate('sendMessage', { conversation: id, text: 'Hello' }))).toBe('RATE_LIMITED');
    expect(model.questions).toHaveLength(1);
  });

  it('are reserved up to each limit and not beyond, and a month begins with none', async () => {
    const em = () => app.services.orm.em.fork();
    const budget = { ...none, tokens: conversationTokens - 10, limit: null, now: new Date('2030-01-31') };
    const reserve = (from: typeof budget | typeof limited, tokens: number) =>
      reserveTokens(em(), from, { tokens, question: 0 });
    const limited = { ...budget, tokens: 0, limit: 100 };
    const ten = await reserve(budget, 10);
    await expect(reserve(budget, 11)).rejects.toMatchObject({ code: 'tokens_used' });
    await reserve(limited, 90);
    await expect(reserve(limited, 1)).rejects.toThrow('the 100 tokens');
    expect(await usedTokens(em(), 1, budget.now)).toBe(100);
    await releaseTokens(em(), ten, 9);
    const one = await reserve(limited, 1);
    const both = await Promise.allSettled([releaseTokens(em(), one, 0), reserve(limited, 2)]);
    expect(both[1]?.status).toBe('rejected');
    const february = { ...limited, now: new Date('2030-02-01') };
    await reserve(february, 100);
    await expect(reserve({ ...february, now: new Date('2030-03-01') }, 101)).rejects.toThrow('100 tokens');
  });

  it('are given back once, to the month they were reserved in, and by the upkeep for a process that has died', async () => {
    const em = () => app.services.orm.em.fork();
    const budget = { ...none, tokens: 0, limit: null, now: new Date('2031-01-31') };
    const used = () => usedTokens(em(), 1, budget.now);
    const [done, dead] = [
      await reserveTokens(em(), budget, { tokens: 500, question: 100 }),
      await reserveTokens(em(), budget, { tokens: 500, question: 100 }),
    ];
    for (let time = 0; time < 2; time += 1) await releaseTokens(em(), done, 150);
    expect(await used()).toBe(650);
    await releaseExpired(em());
    expect(await used()).toBe(650);
    await em().execute(`update assistant_reservation set expires_at = now() - interval '1 s' where id = ?`, [dead]);
    for (let time = 0; time < 2; time += 1) await releaseExpired(em());
    await releaseTokens(em(), dead, 0);
    expect(await used()).toBe(250);
  });

  it('are estimated upward where the provider does not count them', async () => {
    const id = await own.begin();
    model.script.push({ texts: ['x'.repeat(3_000)], usage: false });
    const { tokens } = await own.say(id, 'Write');
    expect(tokens).toBeGreaterThan(1_000);
    expect(tokens).toBeLessThan(conversationTokens / 10);
  });
});

describe('a reply of a process that shows no life', () => {
  const ended = (id: string) => set(id, { lease_until: new Date(0) });

  it('is another one’s, and the first one writes nothing any more', async () => {
    const id = await own.begin();
    const held = heldAnswer('Of the first process');
    await own.mutate('sendMessage', { conversation: id, text: 'Retitle it' });
    await held.begun;
    const second = process();
    await second.look();
    expect(model.questions).toHaveLength(1);
    await ended(id);
    model.script.push(update('Of the second'), { texts: ['Retitled'] });
    await second.look();
    await second.settled();
    const before = await own.read(id);
    held.end();
    await usual.settled();
    const after = await own.read(id);
    expect(after).toEqual(before);
    expect(after).toMatchObject({ state: 'idle', problem: null, calls: [{ state: 'done' }] });
    expect(after.messages.map(({ text }: Any) => text)).toEqual(['Retitle it', '', 'Retitled']);
    expect(await headOf(after.branch)).toBe(after.calls[0].commit_sha);
    expect(await contentOf(app, after.branch, post)).toContain('title: Of the second');
  });

  it('gives back what its step had reserved, once, before any of them is taken up', async () => {
    const em = () => app.services.orm.em.fork();
    const used = () => usedTokens(em(), 1, new Date());
    const before = await used();
    const ids = [await own.begin(), await own.begin(), await own.begin()];
    const held = [heldAnswer('One'), heldAnswer('Two'), heldAnswer('Three')];
    for (const [at, id] of ids.entries()) {
      await own.mutate('sendMessage', { conversation: id, text: 'Write' });
      await held[at]?.begun;
    }
    const reserved = (await used()) - before;
    const [{ question = 0 } = {}] = await em().execute<{ question: number }[]>(
      'select question from assistant_reservation where conversation_id = ?',
      [ids[0]],
    );
    // What the first processes have used, and as much as one reply needs: none can go on while another one's is still reserved.
    const limit = (assistant_tokens_month: number) =>
      app.run(updateOrganization, { organization: 'acme', limits: { assistant_tokens_month } });
    await limit(before + 3 * question + reserved / 3 + 300);
    for (const id of ids) await ended(id);
    const second = process({ parallel: 1 });
    await second.begin(false);
    await second.settled();
    for (const id of ids) expect(await own.read(id)).toMatchObject({ state: 'idle', problem: null });
    const counted = async () => {
      const rows = await Promise.all(ids.map((id) => own.read(id)));
      return [(await used()) - before, rows.reduce((sum, { tokens }) => sum + tokens, 0)];
    };
    const [ofMonth, ofConversations] = await counted();
    // Of the second process the model has counted 110 for each.
    expect([ofMonth, ofConversations]).toEqual([3 * (question + 110), 3 * (question + 110)]);
    for (const { end } of held) end();
    await usual.settled();
    expect(await counted()).toEqual([ofMonth, ofConversations]);
    await limit(1_000_000_000);
  });

  it('is not begun twice by processes that find it at the same time', async () => {
    const id = await own.begin();
    app.services.assistant.replies = process({ parallel: 0 });
    await own.mutate('sendMessage', { conversation: id, text: 'Retitle it' });
    model.script.push(update('Once'), { texts: ['Retitled'] });
    const both = [process(), process()];
    const row = await app.services.orm.em.fork().findOneOrFail(Conversation, { id });
    for (const replies of both) replies.start(row);
    for (const replies of both) await replies.settled();
    expect(model.questions).toHaveLength(2);
    expect((await own.read(id)).calls).toMatchObject([{ state: 'done' }]);
  });

  it('makes no call with what the first one has received', async () => {
    const id = await own.begin();
    const [begun, end] = [gate(), gate()];
    model.script.push(async () => {
      begun.open();
      await end.opened;
      return update('Of the first');
    });
    await own.mutate('sendMessage', { conversation: id, text: 'Retitle it' });
    await begun.opened;
    await ended(id);
    const second = process();
    model.script.push({ texts: ['I leave it'] });
    await second.look();
    await second.settled();
    end.open();
    await usual.settled();
    expect(await own.read(id)).toMatchObject({ branch: null, calls: [], messages: [{}, { text: 'I leave it' }] });
    expect(await headOf(`assistant/${id}`)).toBeNull();
  });
});

describe('a draft that is published meanwhile', () => {
  const publish = async (head: string) => {
    const { status } = await app.ask('POST', `${studio}/merge`, { body: { head, base: 'main' } });
    expect(status).toBe(201);
    await app.ask('DELETE', `${studio}/branches/${head}`);
    expect(await headOf(head)).toBeNull();
  };

  it('is followed by a new one that begins with what was published', async () => {
    const id = await own.begin();
    model.script.push(update('Published'), { texts: ['Done'] });
    const { branch, calls } = await own.say(id, 'Retitle it', { branch: 'main' });
    await publish(branch);
    expect(codeOf(await own.mutate('undoChange', { conversation: id, call: calls[0].id }))).toBe('CONFLICT');
    model.script.push(
      callOf('get_entry', { collection: 'posts', entry: 'first' }),
      callOf('create_entry', { collection: 'posts', slug: 'third', frontmatter: { title: 'Third' } }),
      { texts: ['Done'] },
    );
    const after = await own.say(id, 'Make another', { branch: 'main' });
    expect(after).toMatchObject({ problem: null, branch: `${branch}-2`, base: 'main' });
    expect(after.calls[1].result).toContain('"title":"Published"');
    expect(await contentOf(app, after.branch, post)).toContain('title: Published');
    expect(await contentOf(app, 'main', 'content/posts/third.md')).toBeNull();
  });

  it('takes consent with it: what waits is wanted again for the new draft', async () => {
    const id = await own.begin();
    model.script.push(update('Published again'), remove, { texts: ['Deleted'] });
    const before = await own.say(id, 'Retitle one and delete the other', { branch: 'main' });
    await publish(before.branch);
    await own.approve(id);
    const after = await own.read(id);
    expect(after).toMatchObject({ state: 'waiting', branch: `${before.branch}-2` });
    expect(after.calls[1].phrase).toContain(`from ${before.branch}-2`);
    expect(await contentOf(app, after.branch, 'content/posts/second.md')).not.toBeNull();
    await own.approve(id);
    expect(await own.read(id)).toMatchObject({ state: 'idle', problem: null });
    expect(await contentOf(app, after.branch, 'content/posts/second.md')).toBeNull();
    expect(await contentOf(app, 'main', 'content/posts/second.md')).not.toBeNull();
  });
});

describe("a conversation by Anthropic's protocol", () => {
  let anthropic: Models;
  let openai: Models;
  beforeAll(() => {
    const { http, log, models } = app.services;
    openai = models;
    anthropic = createModels({
      usual: { provider: 'anthropic', url: model.url, name: 'scripted', key: 'secret' },
      ...{ ownAddresses: false, maxTokens: 1_000, http, log },
    });
    Object.assign(app.services, { models: anthropic });
  });
  afterAll(async () => {
    Object.assign(app.services, { models: openai });
    await anthropic.close();
  });

  it('has texts, calls, results, faults and consent', async () => {
    const id = await own.begin();
    model.script.push(
      {
        texts: ['I look ', 'first.'],
        calls: [
          { name: 'get_entry', arguments: { collection: 'posts', entry: 'first' } },
          { name: 'no such tool', arguments: {}, id: 'not valid!' },
        ],
      },
      update('By Anthropic'),
      remove,
      { texts: ['All is done.'] },
    );
    expect(await own.say(id, 'Change it')).toMatchObject({ state: 'waiting' });
    await own.approve(id);
    const { state, problem, tokens, calls, branch, messages } = await own.read(id);
    expect({ state, problem, tokens }).toEqual({ state: 'idle', problem: null, tokens: 440 });
    expect(calls.map((call: Any) => call.state)).toEqual(['done', 'failed', 'done', 'done']);
    expect(messages.at(-1).text).toBe('All is done.');
    expect(await contentOf(app, branch, post)).toContain('title: By Anthropic');
    const { url, headers, body } = model.questions.at(-1) ?? { url: '', headers: {}, body: {} };
    expect([url, headers['x-api-key']]).toEqual(['/v1/messages', 'secret']);
    expect(body.messages.map(({ role, content }: Any) => [role, content.map(({ type }: Any) => type)])).toEqual([
      ['user', ['text']],
      ['assistant', ['text', 'tool_use', 'tool_use']],
      ['user', ['tool_result', 'tool_result']],
      ['assistant', ['tool_use']],
      ['user', ['tool_result']],
      ['assistant', ['tool_use']],
      ['user', ['tool_result']],
    ]);
    const made = body.messages.flatMap(({ content }: Any) => content.filter(({ type }: Any) => type === 'tool_use'));
    const results = body.messages.flatMap(({ content }: Any) =>
      content.filter(({ type }: Any) => type === 'tool_result'),
    );
    expect(results.map(({ tool_use_id }: Any) => tool_use_id)).toEqual(made.map(({ id }: Any) => id));
    for (const { id: reference, name } of made) expect([reference, name].join(' ')).toMatch(/^[\w-]+ [\w-]+$/);
    expect(results.map(({ is_error }: Any) => is_error === true)).toEqual([false, true, false, false]);
  });

  it('ends with a sentence for what goes wrong', async () => {
    const id = await own.begin();
    model.script.push({ texts: ['Half of'], finish: 'max_tokens' });
    expect((await own.say(id, 'Write')).problem).toContain('go on');
    model.script.push({ texts: ['I'], finish: 'refusal' });
    expect((await own.say(id, 'Write')).problem).toContain('withheld');
    model.script.push((response, _question) => {
      beginStream(response);
      const error = { type: 'overloaded_error', message: 'Overloaded' };
      sendEvent(response, { type: 'error', error }, 'error');
      response.end();
    });
    expect((await own.say(id, 'Write')).problem).toBeTruthy();
    model.script.push((response, _question) => void response.writeHead(401).end('{}'));
    expect((await own.say(id, 'Write')).problem).toContain('refuses the key');
    expect(await own.say(id, 'Write')).toMatchObject({ problem: null });
  });
});
