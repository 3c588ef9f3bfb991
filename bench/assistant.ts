import { once } from 'node:events';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Bench, type Benchmark, type Case, check, timedCase } from './benchmark.ts';
import { makeFixture } from './support/fixture.ts';
import { makeEditors } from './support/people.ts';
import { siteRepository } from './support/repositories.ts';
import { startServer } from './support/server.ts';

/** Conversations that stream at once; an editor has ten of them. */
const conversations = 100;
const editors = 10;
/** Pieces of a long answer, and milliseconds between two. */
const pieces = 60;
const every = 50;
/** Milliseconds a provider takes for its first token: few take less. */
const thinking = 100;

const at = 'organization: "bench", project: "site"';

/** A piece that carries its time: all is measured by the clock of this process. */
const piece = () => `at ${performance.now().toFixed(3)} of an answer that a model writes piece by piece. `;
const timesIn = (text: string) => [...text.matchAll(/at ([\d.]+) /g)].map(([, time]) => Number(time));

interface Question {
  messages: { role: string }[];
}

/** A provider of a model with OpenAI's protocol and the given answers. */
async function startProvider(answer: (question: Question, send: (delta: object) => void) => Promise<unknown>) {
  const serve = async (response: ServerResponse, question: Question) => {
    const event = (data: object) => response.write(`data: ${JSON.stringify(data)}\n\n`);
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    await answer(question, (delta) => event({ choices: [{ index: 0, delta }] }));
    event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
    event({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 100, total_tokens: 200 } });
    response.end('data: [DONE]\n\n');
  };
  const server = createServer(async (incoming, response) => {
    let text = '';
    for await (const chunk of incoming.setEncoding('utf8')) text += chunk;
    await serve(response, JSON.parse(text));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, close: () => void server.close() };
}

interface Watched {
  /** Milliseconds each piece took from the provider until it was here. */
  delays: number[];
  /** Those that came by themselves. */
  pieces: number;
  /** Of the first one, by the clock of this process. */
  firstAt: number;
}

/** Sends JSON, and reads the events of the answer until `take` is done. */
function stream(url: string, headers: object, body: object, take: (data: string, arrived: number) => boolean) {
  return new Promise<void>((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers: { ...headers, 'content-type': 'application/json' } });
    sent.once('error', reject);
    sent.once('response', (response) => {
      let rest = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        const arrived = performance.now();
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines)
          if (line.startsWith('data: ') && take(line.slice(6), arrived)) {
            resolve();
            sent.destroy();
            return;
          }
      });
      response.once('end', () => reject(new Error(`The stream ended (${response.statusCode}): ${rest.slice(0, 500)}`)));
    });
    sent.end(JSON.stringify(body));
  });
}

/** An editor in a browser. */
function editorAt(url: string, cookie: string) {
  const headers = { Cookie: cookie, 'Sec-Fetch-Site': 'same-origin' };
  async function graphql(query: string, variables: object = {}) {
    const body = JSON.stringify({ query, variables });
    const answer = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body,
    });
    const { data, errors } = (await answer.json()) as { data: Record<string, { id: string }>; errors?: object[] };
    check(!errors, JSON.stringify(errors));
    return data;
  }
  return {
    async begin() {
      const { createConversation } = await graphql(`mutation { createConversation(${at}) { id } }`);
      return createConversation?.id ?? '';
    },
    send: (conversation: string) =>
      graphql(`mutation ($input: SendMessageInput!) { sendMessage(${at}, input: $input) { id } }`, {
        input: { conversation, text: 'Write about the garden' },
      }),
    /** Follows a conversation until its reply has ended. */
    async watch(conversation: string): Promise<Watched> {
      const query = `subscription { assistantEvents(${at}, conversation: "${conversation}") { changed { state problem messages { role text complete } } text { text } } }`;
      const watched: Watched = { delays: [], pieces: 0, firstAt: 0 };
      let hasBegun = false;
      await stream(`${url}/graphql`, { ...headers, accept: 'text/event-stream' }, { query }, (data, arrived) => {
        const { changed, text } = JSON.parse(data).data?.assistantEvents ?? {};
        // As a piece, or with the message once it is stored.
        const stored =
          changed?.messages.filter(({ role }: { role: string }) => role === 'assistant').at(-1)?.text ?? '';
        const news = text ? timesIn(text.text) : timesIn(stored).slice(watched.delays.length);
        if (news.length > 0) watched.firstAt ||= arrived;
        if (text) watched.pieces += news.length;
        watched.delays.push(...news.map((time) => arrived - time));
        hasBegun ||= changed?.state === 'running';
        check(!changed?.problem, `A reply ended: ${changed?.problem}`);
        return hasBegun && changed?.state === 'idle';
      });
      return watched;
    },
  };
}

/** The first token of an answer: through the service, and straight from the provider. */
async function firstTokens(bench: Bench, url: string, provider: string, cookie: string): Promise<Case[]> {
  const editor = editorAt(url, cookie);
  const own: number[] = [];
  const whole: number[] = [];
  const straight: number[] = [];
  for (let n = -5; n < bench.scaled(60, 10); n += 1) {
    const conversation = await editor.begin();
    const watching = editor.watch(conversation);
    await delay(20);
    const sent = performance.now();
    await editor.send(conversation);
    const { delays, firstAt } = await watching;
    let direct = Number.NaN;
    await stream(`${provider}/chat/completions`, {}, { messages: [] }, (data, arrived) => {
      const [time] = timesIn(data);
      if (time !== undefined) direct = arrived - time;
      return time !== undefined;
    });
    if (n < 0) continue;
    own.push(delays[0] ?? Number.NaN);
    whole.push(firstAt - sent - thinking);
    straight.push(direct);
  }
  const beside = { 'straight from the provider': straight };
  return [
    timedCase('first token, from the provider until it is here', own, { beside, atMost: 20 }),
    timedCase('a message until the first token of its answer, without the time of the provider', whole),
  ];
}

/** The assistant beside a provider whose answers cost nothing. */
export const assistant: Benchmark = {
  name: 'assistant',
  summary: 'Answers of the assistant: the first token, and 100 conversations that stream at once.',
  async run(bench) {
    const cookies: string[] = [];
    const source = await siteRepository({ posts: bench.scaled(1_000, 50), directories: 10 });
    const { dataDir, environment } = await makeFixture(await bench.directory(), { site: source }, async (services) => {
      cookies.push(...(await makeEditors(services, editors)));
    });
    const answerOnce: Parameters<typeof startProvider>[0] = async (_question, send) => {
      await delay(thinking);
      send({ content: piece() });
    };
    let answer = answerOnce;
    const provider = await startProvider((question, send) => answer(question, send));
    bench.defer(provider.close);
    const server = await startServer({
      dataDir,
      environment: { ...environment, PORTICO_ASSISTANT_URL: provider.url, PORTICO_ASSISTANT_MODEL: 'bench' },
    });
    bench.defer(server.stop);
    const count = bench.scaled(conversations, 20);
    const all = Array.from({ length: count }, (_, n) => editorAt(server.url, cookies[n % editors] ?? ''));
    const begun = await Promise.all(all.map(async (editor) => ({ editor, id: await editor.begin() })));
    await delay(1_000);
    const idle = await server.memory();
    await server.resetPeak();
    bench.say(`${count} conversations at once`);
    let arrived = 0;
    let allThere = () => {};
    const together = new Promise<void>((resolve) => {
      allThere = resolve;
    });
    const entry = { name: 'get_entry', arguments: '{"collection":"posts","entry":"d01/post-000001"}' };
    answer = async ({ messages }, send) => {
      if (!messages.some(({ role }) => role === 'tool'))
        return send({ tool_calls: [{ index: 0, id: 'call', type: 'function', function: entry }] });
      arrived += 1;
      if (arrived === count) allThere();
      // Not one answer begins before all can.
      await together;
      for (let n = 0; n < pieces; n += 1) {
        send({ content: piece() });
        await delay(every);
      }
    };
    const watching = begun.map(({ editor, id }) => editor.watch(id));
    await Promise.all(begun.map(({ editor, id }) => editor.send(id)));
    const watched = await Promise.race([Promise.all(watching), delay(120_000, null, { ref: false })]);
    check(watched !== null, `${arrived} of ${count} conversations have streamed at once within two minutes`);
    const streamed = watched.flatMap(({ delays }) => delays);
    check(streamed.length === count * pieces, `${streamed.length} of ${count * pieces} pieces have come`);
    const alone = watched.reduce((sum, { pieces: own }) => sum + own, 0);
    const value = (await server.peakMemory()) - idle;
    const peers = [{ name: 'the same server before', value: idle }];
    answer = answerOnce;
    bench.say('first tokens');
    return {
      cases: [
        ...(await firstTokens(bench, server.url, provider.url, cookies[0] ?? '')),
        { name: `${count} conversations at once, memory more than before`, unit: 'MiB', value, peers, atMost: 150 },
        timedCase(`${count} at once, a piece from the provider until it is here`, streamed),
      ],
      notes: [
        `Each of the ${count} reads an entry, and then all answer at once, in ${pieces} pieces, ${every} ms apart; ${alone} of ${count * pieces} came by themselves, the others with what was stored of the message.`,
        `For the first token the provider takes ${thinking} ms, and the token carries the time at which it is sent.`,
        'Provider and readers are in the process of the benchmark, so all times are by one clock; they take their part of the processors.',
      ],
    };
  },
};
