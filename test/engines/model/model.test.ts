import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createGuardedHttp } from '../../../src/engines/http/guarded-http.ts';
import { createModel, type ModelOptions } from '../../../src/engines/model/model.ts';
import { Pace } from '../../../src/lib/concurrency.ts';
import type { ModelMessage, ModelPart } from '../../../src/ports/model.ts';
import { shared } from '../../support/app.ts';
import { iterationsDuring } from '../../support/loop-iterations.ts';
import { beginStream, sendEvent, startModelServer, textEvent } from '../../support/model-server.ts';

const server = shared(startModelServer);
const lines: string[] = [];
const note = (fields: object, message: string) => void lines.push(JSON.stringify({ ...fields, message }));
const log = { debug: note, info: note, warn: note, error: note, child: () => log };

afterEach(() => {
  server.script.length = 0;
  server.questions.length = 0;
  lines.length = 0;
});

const tool = { name: 'get_entry', description: 'One entry', schema: { type: 'object', properties: {} } };

async function step(options: Partial<ModelOptions> = {}, messages?: ModelMessage[], signal?: AbortSignal) {
  const model = createModel({
    provider: 'openai',
    url: server.url,
    name: 'scripted',
    key: 'secret-key',
    maxTokens: 1000,
    log,
    ...options,
  });
  const parts: ModelPart[] = [];
  try {
    const request = {
      system: 'Be brief',
      messages: messages ?? [{ role: 'user' as const, text: 'Hello' }],
      tools: [tool],
      signal: signal ?? new AbortController().signal,
    };
    for await (const part of model.step(request)) parts.push(part);
  } finally {
    await model.close();
  }
  return parts;
}

const answer = {
  texts: ['Let me', ' look.'],
  calls: [{ id: 'call_a', name: 'get_entry', arguments: { entry: 'first' } }],
};
const parts = [
  { kind: 'text', text: 'Let me' },
  { kind: 'text', text: ' look.' },
  { kind: 'call', call: { id: 'call_a', name: 'get_entry', arguments: '{"entry":"first"}' } },
  { kind: 'end', reason: 'done', usage: { input: 100, output: 10 } },
];

describe('a model', () => {
  it("streams texts and calls by OpenAI's protocol", async () => {
    server.script.push(answer);
    expect(await step()).toEqual(parts);
    const [question] = server.questions;
    expect(question?.url).toBe('/v1/chat/completions');
    expect(question?.headers.authorization).toBe('Bearer secret-key');
    expect(question?.body).toMatchObject({ model: 'scripted', max_tokens: 1000, stream: true });
    expect(question?.body.tools[0].function.name).toBe('get_entry');
  });

  it("streams texts and calls by Anthropic's protocol", async () => {
    server.script.push(answer);
    expect(await step({ provider: 'anthropic' })).toEqual(parts);
    expect(server.questions[0]?.url).toBe('/v1/messages');
    expect(server.questions[0]?.headers['x-api-key']).toBe('secret-key');
  });

  it('leaves time for all else while thousands of texts come at once', async () => {
    const texts = 4_000;
    server.script.push(() => (response: ServerResponse) => {
      beginStream(response);
      const event = `data: ${JSON.stringify(textEvent('a'))}\n\n`;
      const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
      response.end(`${event.repeat(texts)}data: ${JSON.stringify(end)}\n\ndata: [DONE]\n\n`);
    });
    let found: ModelPart[] = [];
    const iterations = await iterationsDuring(async () => {
      found = await step();
    });
    expect(found).toHaveLength(texts + 1);
    expect(iterations).toBeGreaterThan(texts / 100);
  });

  const openAiEnd = 'data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n';
  const emptyEvent = 'data: {"choices":[]}\n\n';

  it('leaves time for all else while thousands of events that say nothing come at once', async () => {
    const events = emptyEvent.repeat(4_000);
    server.script.push(() => (response: ServerResponse) => {
      beginStream(response);
      response.end(events + openAiEnd);
    });
    const isDue = vi.spyOn(Pace.prototype, 'isDue', 'get').mockReturnValue(true);
    const yields = vi.spyOn(Pace.prototype, 'yield');
    try {
      await step();
      expect(yields.mock.calls.length).toBeGreaterThan(events.length / 4_096);
    } finally {
      isDue.mockRestore();
      yields.mockRestore();
    }
  });

  it.each([
    ['of 1,000 tokens', 5_000, 1_000],
    ['of any number of tokens', 40_000, 200_000],
  ])('takes an answer %s in %i events, and in no more', async (_of, most, maxTokens) => {
    const answerIn = (events: number) =>
      server.script.push(() => (response: ServerResponse) => {
        beginStream(response);
        // Of these the last two are the end; empty lines alone are no event.
        response.end(`${emptyEvent.repeat(events - 2)}\n\n${openAiEnd}`);
      });
    answerIn(most);
    expect(await step({ maxTokens })).toEqual([{ kind: 'end', reason: 'done', usage: null }]);
    answerIn(most + 1);
    await expect(step({ maxTokens })).rejects.toMatchObject({
      failure: 'malformed',
      message: `The model has sent its answer in more than ${most} pieces; its answer was given up`,
    });
  });

  const eventOf = (call: string, count: number) =>
    `data: {"choices":[{"delta":{"tool_calls":[${Array(count).fill(call).join()}]}}]}\n\n`;
  const argumentsOf = (text: string) => {
    const pieces = text.match(/.{1,100000}/g) ?? [];
    const call = { index: 0, id: 'a', function: { name: 'get_entry', arguments: '' } };
    return [call, ...pieces.map((piece) => ({ index: 0, function: { arguments: piece } }))]
      .map((delta) => `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [delta] } }] })}\n\n`)
      .join('');
  };
  const anthropicText = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } };

  it.each([
    ['many calls in one event', 'openai', eventOf('{"function":{"name":"a"}}', 700), 'more values'],
    [
      'many nameless pieces of calls',
      'openai',
      eventOf('{"function":{"name":"a"}},{"function":{}}', 450),
      'more values',
    ],
    ['many values that are none of its own', 'openai', `data: {"choices":[${'1,'.repeat(2_000)}1]}\n\n`, 'more values'],
    ['a quote in another field', 'openai', `event: "\n${eventOf('{"function":{"name":"a"}}', 700)}`, 'more values'],
    ['many lines', 'openai', `data: {"choices":\ndata: [${'\r\ndata: 1,'.repeat(2_000)}1]}\n\n`, 'more values'],
    ['lines of no event', 'openai', 'a\n\n'.repeat(101), 'no stream'],
    ['a long event', 'openai', `data: ${JSON.stringify(textEvent('a'.repeat(2 ** 18)))}\n\n`, '256 KiB'],
    ['many calls', 'openai', eventOf('{"function":{"name":"a"}}', 10).repeat(11), '100 tools'],
    ['arguments of many values', 'openai', argumentsOf(`{"a":[${'1,'.repeat(10_000)}1]}`), '10000 values'],
    ['deep arguments', 'openai', argumentsOf('['.repeat(101) + ']'.repeat(101)), '100 levels'],
    [
      ...(['many values', 'anthropic'] as const),
      `data: ${JSON.stringify({ ...anthropicText, more: Array(2_000).fill(1) })}\n\n`,
      'more values',
    ],
    [
      'a long event',
      'anthropic',
      `data: ${JSON.stringify({ ...anthropicText, more: 'a'.repeat(2 ** 18) })}\n\n`,
      '256 KiB',
    ],
  ] as const)('ends an answer with %s by the protocol of %s', async (_of, provider, events, message) => {
    server.script.push((response, _question) => {
      beginStream(response);
      response.end(events + openAiEnd);
    });
    await expect(step({ provider })).rejects.toMatchObject({
      failure: 'malformed',
      message: expect.stringContaining(message),
    });
  });

  it('takes whole calls in one event, with lines that end as they may', async () => {
    const text = JSON.stringify({ body: '{"a":[1,2,3]},'.repeat(5_000) });
    const calls = [0, 1].map((index) => ({
      index,
      id: `call_${index}`,
      function: { name: 'get_entry', arguments: text },
    }));
    server.script.push((response, _question) => {
      beginStream(response);
      const event = `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: calls } }] })}\r\n\r\n`;
      response.write(': alive\r\n\r\n'.repeat(3_000) + event.slice(0, 100_000));
      response.end(event.slice(100_000) + openAiEnd);
    });
    expect((await step()).filter(({ kind }) => kind === 'call')).toEqual(
      calls.map(({ id }) => ({ kind: 'call', call: { id, name: 'get_entry', arguments: text } })),
    );
  });

  it('hands earlier calls and their results on', async () => {
    await step({}, [
      { role: 'user', text: 'Hello' },
      { role: 'assistant', text: '', calls: [{ id: 'a', name: 'get_entry', arguments: '{"entry":' }] },
      { role: 'tool', results: [{ id: 'a', name: 'get_entry', text: 'not JSON', failed: true }] },
    ]);
    const { messages } = server.questions[0]?.body ?? {};
    expect(messages.map(({ role }: { role: string }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
    expect(messages[2].tool_calls[0].function.arguments).toBe('{}');
    expect(messages[3].content).toBe('not JSON');
  });

  it('says that usage is unknown where the provider reports none', async () => {
    server.script.push({ texts: ['Yes'], usage: false });
    expect((await step()).at(-1)).toEqual({ kind: 'end', reason: 'done', usage: null });
  });

  it.each([
    ['negative', { prompt_tokens: -1_000_000_000, completion_tokens: 1 }],
    ['negative for the answer', { prompt_tokens: 100, completion_tokens: -1 }],
    ['fractional', { prompt_tokens: 0.5, completion_tokens: 0.3 }],
    ['beyond all models', { prompt_tokens: 1e308, completion_tokens: 1 }],
    ['empty', {}],
    ['zero', { prompt_tokens: 0, completion_tokens: 0 }],
  ])('says that usage is unknown where the report is %s', async (_report, usage) => {
    server.script.push((response, _question) => {
      beginStream(response);
      sendEvent(response, { choices: [{ index: 0, delta: { content: 'Yes' }, finish_reason: 'stop' }], usage });
      response.end('data: [DONE]\n\n');
    });
    expect((await step()).at(-1)).toEqual({ kind: 'end', reason: 'done', usage: null });
  });

  it('needs no key', async () => {
    await step({ key: null });
    expect(server.questions[0]?.headers.authorization).toBeUndefined();
  });

  it('obeys Retry-After before it tries again', async () => {
    server.script.push((response, _question) => void response.writeHead(429, { 'Retry-After': '0.05' }).end('{}'));
    expect((await step()).at(-1)).toMatchObject({ reason: 'done' });
    expect(server.questions).toHaveLength(2);
  });

  it('waits no longer than its bound', async () => {
    server.script.push((response, _question) => void response.writeHead(503, { 'Retry-After': '61' }).end('{}'));
    await expect(step()).rejects.toMatchObject({ failure: 'overloaded' });
    expect(server.questions).toHaveLength(1);
  });

  it.each([
    [401, 'key'],
    [404, 'address'],
    [400, 'refused'],
    [302, 'redirected'],
    [500, 'overloaded'],
  ])('says what is wrong when the provider answers %d', async (status, failure) => {
    server.script.push(
      (response, _question) =>
        void response.writeHead(status, { Location: 'http://127.0.0.1:1/' }).end('{"error":{"message":"no"}}'),
    );
    await expect(step()).rejects.toMatchObject({ name: 'ModelFault', failure });
    expect(server.questions).toHaveLength(1);
    expect(lines.join()).toContain(String(status));
    expect(lines.join()).not.toContain('secret-key');
  });

  it('says that nothing answers at the address', async () => {
    await expect(step({ url: 'http://127.0.0.1:9/v1' })).rejects.toMatchObject({ failure: 'unreachable' });
  });

  it('gives up a provider that does not begin to answer', async () => {
    server.script.push((_response, _question) => undefined);
    await expect(step({ timeouts: { headers: 50 } })).rejects.toMatchObject({ failure: 'slow' });
  });

  it('gives up a stream that stalls', async () => {
    server.script.push((response, _question) => {
      beginStream(response);
      sendEvent(response, textEvent('One'));
    });
    await expect(step({ timeouts: { idle: 50 } })).rejects.toMatchObject({ failure: 'slow' });
  });

  it('gives up a stream that does not end', async () => {
    server.script.push((response, _question) => {
      beginStream(response);
      const timer = setInterval(() => sendEvent(response, textEvent('more ')), 5);
      response.on('close', () => clearInterval(timer));
    });
    await expect(step({ timeouts: { total: 200 } })).rejects.toMatchObject({ failure: 'too_long' });
  });

  it('gives up an answer of 10 MB', async () => {
    server.script.push((response, _question) => {
      beginStream(response);
      for (let n = 0; n < 100; n += 1) sendEvent(response, textEvent('x'.repeat(100_000)));
      response.end();
    });
    await expect(step()).rejects.toMatchObject({ failure: 'too_long' });
  });

  it('says that a stream was cut, in a text and in a call', async () => {
    server.script.push((response, _question) => {
      beginStream(response);
      sendEvent(response, textEvent('Half'));
      response.end();
    });
    await expect(step()).rejects.toMatchObject({ failure: 'cut' });
    server.script.push((response, _question) => {
      beginStream(response);
      const call = { index: 0, id: 'a', function: { name: 'get_entry', arguments: '{"en' } };
      sendEvent(response, { choices: [{ index: 0, delta: { tool_calls: [call] } }] });
      response.write('data: {', () => response.destroy());
    });
    await expect(step()).rejects.toMatchObject({ failure: 'cut' });
  });

  it('says that an answer cannot be read', async () => {
    server.script.push((response, _question) => {
      beginStream(response);
      response.end('data: <html>\n\n');
    });
    await expect(step()).rejects.toMatchObject({ failure: 'malformed' });
  });

  it('is reached through the guarded client where a guard is set, with the same bounds', async () => {
    const open = createGuardedHttp({ allowedCidrs: ['127.0.0.0/8'] });
    const guard = { http: open, policy: { pool: 'assistant 1' } };
    server.script.push(answer);
    expect(await step({ guard })).toEqual(parts);
    expect(server.questions[0]?.headers.authorization).toBe('Bearer secret-key');
    server.script.push((response, _question) => {
      beginStream(response);
      sendEvent(response, textEvent('One'));
    });
    await expect(step({ guard, timeouts: { idle: 50 } })).rejects.toMatchObject({ failure: 'slow' });
    server.script.push((response, _question) => {
      beginStream(response);
      sendEvent(response, textEvent('Half'), 'x');
      response.write('data: {', () => response.destroy());
    });
    await expect(step({ guard })).rejects.toMatchObject({ failure: 'cut' });
    server.script.push((_response, _question) => undefined);
    await expect(step({ guard, timeouts: { headers: 50 } })).rejects.toMatchObject({ failure: 'slow' });
    server.script.push((response, _question) => void response.writeHead(302, { Location: server.url }).end());
    await expect(step({ guard })).rejects.toMatchObject({ failure: 'redirected' });
    const stop = new AbortController();
    server.script.push((_response, _question) => stop.abort(new Error('stopped')));
    await expect(step({ guard }, undefined, stop.signal)).rejects.toThrow('stopped');
    await open.close();
    const closed = createGuardedHttp({ allowedCidrs: [] });
    const shut = { http: closed, policy: { pool: 'assistant 1' } };
    await expect(step({ guard: shut })).rejects.toMatchObject({ failure: 'address' });
    expect(lines.join()).not.toContain('secret-key');
    await closed.close();
  });

  it('stops with its signal', async () => {
    const stop = new AbortController();
    server.script.push((response, _question) => {
      beginStream(response);
      sendEvent(response, textEvent('One'));
      stop.abort(new Error('stopped'));
    });
    await expect(step({}, undefined, stop.signal)).rejects.toThrow('stopped');
    expect(lines).toEqual([]);
  });
});
