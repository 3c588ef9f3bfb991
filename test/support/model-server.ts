import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as the model got it. */
export interface ModelQuestion {
  headers: IncomingMessage['headers'];
  url: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into requests of both protocols
  body: any;
}

/** What the model does next. */
export type ModelAnswer =
  /** Texts, piece by piece, and then calls of tools. */
  | {
      texts?: readonly string[];
      calls?: readonly { name: string; arguments: unknown; id?: string }[];
      usage?: boolean;
      finish?: string;
    }
  /** Writes an answer by hand. */
  | ((response: ServerResponse, question: ModelQuestion) => Promise<void> | void);

/** A provider of a model on loopback that answers as it is scripted. */
export interface ModelServer {
  url: string;
  /** All requests so far. */
  questions: ModelQuestion[];
  /** What is answered next, one for each request; a function gets the request and gives the answer. */
  script: (ModelAnswer | ((question: ModelQuestion) => ModelAnswer | Promise<ModelAnswer>))[];
  /** What is answered when the script is over. */
  otherwise: ModelAnswer;
  close(): Promise<void>;
}

/** Writes one event of a stream. */
export const sendEvent = (response: ServerResponse, data: unknown, event?: string): void => {
  response.write(`${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`);
};

/** The head of a stream. */
export const beginStream = (response: ServerResponse): void => {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
};

/** A piece of text in OpenAI's protocol. */
export const textEvent = (content: string) => ({ id: 'x', choices: [{ index: 0, delta: { content } }] });

let callNumber = 0;

function answerOpenAi(response: ServerResponse, answer: Exclude<ModelAnswer, (...args: never) => unknown>): void {
  beginStream(response);
  const { texts = [], calls = [], usage = true, finish } = answer;
  for (const text of texts) sendEvent(response, textEvent(text));
  for (const [index, { name, arguments: given, id }] of calls.entries()) {
    callNumber += 1;
    const text = typeof given === 'string' ? given : JSON.stringify(given);
    const start = { index, id: id ?? `call_${callNumber}`, type: 'function', function: { name, arguments: '' } };
    sendEvent(response, { choices: [{ index: 0, delta: { tool_calls: [start] } }] });
    // In two parts, as providers stream them.
    for (const part of [text.slice(0, 5), text.slice(5)])
      sendEvent(response, {
        choices: [{ index: 0, delta: { tool_calls: [{ index, function: { arguments: part } }] } }],
      });
  }
  const finish_reason = finish ?? (calls.length > 0 ? 'tool_calls' : 'stop');
  sendEvent(response, { choices: [{ index: 0, delta: {}, finish_reason }] });
  if (usage)
    sendEvent(response, { choices: [], usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 } });
  response.end('data: [DONE]\n\n');
}

function answerAnthropic(response: ServerResponse, answer: Exclude<ModelAnswer, (...args: never) => unknown>): void {
  beginStream(response);
  const { texts = [], calls = [], finish } = answer;
  const send = (type: string, data: object) => sendEvent(response, { type, ...data }, type);
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'scripted', content: [], stop_reason: null };
  send('message_start', { message: { ...message, usage: { input_tokens: 100, output_tokens: 1 } } });
  let index = 0;
  if (texts.length > 0) {
    send('content_block_start', { index, content_block: { type: 'text', text: '' } });
    for (const text of texts) send('content_block_delta', { index, delta: { type: 'text_delta', text } });
    send('content_block_stop', { index });
    index += 1;
  }
  for (const { name, arguments: given, id } of calls) {
    callNumber += 1;
    const block = { type: 'tool_use', id: id ?? `toolu_${callNumber}`, name, input: {} };
    send('content_block_start', { index, content_block: block });
    send('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: JSON.stringify(given) } });
    send('content_block_stop', { index });
    index += 1;
  }
  const stop_reason = finish ?? (calls.length > 0 ? 'tool_use' : 'end_turn');
  send('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 10 } });
  send('message_stop', {});
  response.end();
}

async function read(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text;
}

/** Starts a provider with OpenAI's protocol, and Anthropic's below `/messages`. */
export async function startModelServer(): Promise<ModelServer> {
  const model: ModelServer = {
    url: '',
    questions: [],
    script: [],
    otherwise: { texts: ['Done.'] },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = createServer(async (request, response) => {
    const question = {
      headers: request.headers,
      url: request.url ?? '',
      body: JSON.parse((await read(request)) || 'null'),
    };
    model.questions.push(question);
    let answer = model.script.shift() ?? model.otherwise;
    if (typeof answer === 'function' && answer.length < 2)
      answer = await (answer as (requested: ModelQuestion) => ModelAnswer | Promise<ModelAnswer>)(question);
    if (typeof answer === 'function')
      return void (await (answer as (r: ServerResponse, q: ModelQuestion) => unknown)(response, question));
    if (question.url.endsWith('/messages')) answerAnthropic(response, answer);
    else answerOpenAi(response, answer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  model.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return model;
}
