/**
 * How a model is reached: at its own address and no other, without redirects, within bounds of time and bytes. The operator's address may be on
 * loopback or in a private network; one that an organisation has named goes through the guarded client, which reaches neither.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { DomainError } from '../../kernel/errors.ts';
import { Pace } from '../../lib/concurrency.ts';
import { retryAfter, trustedCertificates, undici } from '../../lib/http-client.ts';
import type { GuardedHttp, HttpPolicy } from '../../ports/http.ts';
import { ModelFault } from '../../ports/model.ts';
import { EventMeter, mostEventsFor } from './answer-bounds.ts';

/** Milliseconds. */
export interface ModelTimeouts {
  connect: number;
  /** From the request to the head of the answer: a local model reads the question first. */
  headers: number;
  /** Between two pieces of the answer. */
  idle: number;
  /** The whole answer. */
  total: number;
  /** Waits that a provider asks for, and those of one request in sum. */
  longestWait: number;
}

const usualTimeouts: ModelTimeouts = {
  connect: 10_000,
  headers: 120_000,
  idle: 60_000,
  total: 300_000,
  longestWait: 60_000,
};

/** Bytes of an answer as a stream, and of an error. */
const longestAnswer = 4 * 2 ** 20;

/** Bytes of an answer that are handed to the client at a time. It parses the events in them, which may be tiny, without a break. */
const longestPiece = 4 * 1024;

/** Tries of one request, also after answers that name a time to wait. */
const mostTries = 4;

export interface ModelFetchOptions {
  /** Where all requests go: scheme, host and port. */
  origin: string;
  /** Most tokens of one answer. */
  maxTokens: number;
  caFile?: string | undefined;
  timeouts?: Partial<ModelTimeouts> | undefined;
  /** Whose settings name the model; default: the operator's. */
  owner?: 'operator' | 'organization' | undefined;
  /** What requests go through that may not reach every network. */
  guard?: { http: GuardedHttp; policy: HttpPolicy } | undefined;
}

/** Where a part of the settings is, for a person. */
const settingNames = {
  operator: {
    key: 'PORTICO_ASSISTANT_KEY',
    url: 'PORTICO_ASSISTANT_URL',
    model: 'PORTICO_ASSISTANT_MODEL and _URL',
  },
  organization: {
    key: 'the key in the settings of the organisation',
    url: 'the address in the settings of the organisation',
    model: 'model and address in the settings of the organisation',
  },
};
type SettingNames = (typeof settingNames)['operator'];

const seconds = (milliseconds: number) => Math.max(1, Math.round(milliseconds / 1000));

/** The faults of connections, by what undici or the guarded client calls them. */
function connectionFault(error: unknown, { headers, connect }: ModelTimeouts, { url }: SettingNames): ModelFault {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (error instanceof DomainError && error.details?.reason === 'blocked_address')
    return new ModelFault('address', 'The address of the model is in a network that organisations may not reach', {
      cause: error,
    });
  const code = (cause as { code?: string }).code ?? '';
  if (code === 'UND_ERR_HEADERS_TIMEOUT')
    return new ModelFault('slow', `The model has not begun to answer within ${seconds(headers)} s; try again later`, {
      cause,
    });
  if (code === 'UND_ERR_CONNECT_TIMEOUT')
    return new ModelFault('unreachable', `The model could not be reached within ${seconds(connect)} s`, { cause });
  return new ModelFault(
    'unreachable',
    `The model cannot be reached; an administrator finds the reason in the log, and can change ${url}`,
    { cause },
  );
}

/**
 * Ends a body that is too long or stalls with a fault in the stream.
 * @param meter of its events; null: it has none
 */
function bounded(
  body: ReadableStream<Uint8Array>,
  { idle, total }: ModelTimeouts,
  meter: EventMeter | null,
  abandon: () => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const began = performance.now();
  const pace = new Pace();
  let bytes = 0;
  /** What has come and is not handed on yet. */
  let rest: Uint8Array = new Uint8Array();
  const fail = (fault: ModelFault): never => {
    abandon();
    throw fault;
  };
  const handOn = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if (pace.isDue) await pace.yield();
    const piece = rest.subarray(0, longestPiece);
    rest = rest.subarray(piece.length);
    const excess = meter?.take(piece) ?? null;
    if (excess !== null) return fail(excess);
    controller.enqueue(piece);
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (rest.length > 0) return handOn(controller);
      const left = Math.min(idle, total - (performance.now() - began));
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<'late'>((resolve) => {
        timer = setTimeout(() => resolve('late'), Math.max(0, left));
      });
      const read = reader.read();
      read.catch(() => {});
      try {
        const next = await Promise.race([read, late]);
        if (next === 'late')
          return fail(
            left < idle
              ? new ModelFault('too_long', `The model has not ended its answer within ${seconds(total)} s`)
              : new ModelFault('slow', `The model has sent nothing for ${seconds(idle)} s; its answer was given up`),
          );
        if (next.done) return controller.close();
        bytes += next.value.byteLength;
        if (bytes > longestAnswer)
          return fail(
            new ModelFault('too_long', `The answer of the model is longer than ${longestAnswer / 2 ** 20} MiB`),
          );
        rest = next.value;
        await handOn(controller);
      } catch (error) {
        if (error instanceof ModelFault || (error as Error).name === 'AbortError') throw error;
        throw new ModelFault('cut', 'The connection to the model broke in the middle of its answer', { cause: error });
      } finally {
        clearTimeout(timer);
      }
    },
    cancel() {
      abandon();
    },
  });
}

/** Why an answer is no answer, as a person reads it. The provider's own text goes to the log, since it may repeat what was sent. */
function statusFault(status: number, text: string, names: SettingNames): ModelFault {
  const cause = new Error(`${status}: ${text.slice(0, 2_000)}`);
  const fault = (failure: ModelFault['failure'], message: string) => new ModelFault(failure, message, { cause });
  if (status >= 300 && status < 400)
    return fault('redirected', `The address of the model redirects to another one; set ${names.url} to that`);
  if (status === 401 || status === 403)
    return fault('key', `The provider of the model refuses the key; an administrator has to set ${names.key}`);
  if (status === 404)
    return fault('address', `The provider knows no such model or address; an administrator has to set ${names.model}`);
  if (status === 429)
    return fault('rate_limited', 'The provider of the model takes no more requests now; try again in a few minutes');
  if (status === 413) return fault('too_long', 'The conversation has become too long for the model; begin a new one');
  if (status >= 500) return fault('overloaded', `The provider of the model has failed (${status}); try again later`);
  return fault('refused', `The provider of the model refuses the request (${status}); the log has the reason`);
}

/** What is read of an answer that is an error. */
async function errorText(body: ReadableStream<Uint8Array> | null): Promise<string> {
  if (!body) return '';
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > 4_000) break;
  }
  return text;
}

/** An answer as it comes. */
interface RawAnswer {
  status: number;
  headers: [string, string][];
  body: ReadableStream<Uint8Array> | null;
}
type Send = (url: string, init: RequestInit, signal: AbortSignal) => Promise<RawAnswer>;

/** Requests without a guard, over connections of their own. */
function directly(caFile: string | undefined, times: ModelTimeouts) {
  const { Agent, fetch } = undici();
  const agent = new Agent({
    connect: { timeout: times.connect, ca: trustedCertificates(caFile) },
    headersTimeout: times.headers,
    // Bodies are timed as they are read.
    bodyTimeout: 0,
    connections: 256,
  });
  const send: Send = async (url, init, signal) => {
    const answer = await fetch(url, { ...init, signal, redirect: 'manual', dispatcher: agent } as never);
    const { status, headers, body } = answer;
    return { status, headers: [...headers], body: body as unknown as RawAnswer['body'] };
  };
  return { send, close: () => agent.destroy() };
}

/** Requests through the guarded client, which resolves and checks the host at each connection and follows no redirect. */
function guarded({ http, policy }: NonNullable<ModelFetchOptions['guard']>, times: ModelTimeouts) {
  const { connect, headers, idle, total } = times;
  const send: Send = async (url, { method = 'GET', headers: given, body }, signal) => {
    const answer = await http.request(url, {
      ...{ method, policy, signal, body: body as string | null },
      headers: { ...Object.fromEntries(new Headers(given)), 'accept-encoding': 'identity' },
      // Bodies are timed and measured as they are read; what bounds them here comes later.
      timeouts: { connect, headers, idle: 2 * idle, total: 2 * total },
      maxBytes: 2 * longestAnswer,
    });
    const names = Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)]);
    return { status: answer.status, headers: names, body: ReadableStream.from(answer.body) };
  };
  return { send, close: async () => {} };
}

/** A `fetch` for the client of a provider, and how to close its connections. */
export function createModelFetch({
  origin,
  maxTokens,
  caFile,
  timeouts,
  owner = 'operator',
  guard,
}: ModelFetchOptions) {
  const times = { ...usualTimeouts, ...timeouts };
  const names = settingNames[owner];
  const { send, close } = guard ? guarded(guard, times) : directly(caFile, times);

  async function once(url: string, init: RequestInit): Promise<Response> {
    const given = init.signal;
    const over = new AbortController();
    const signal = given ? AbortSignal.any([given, over.signal]) : over.signal;
    try {
      const answer = await send(url, init, signal);
      const isStream = answer.status >= 200 && answer.status < 300;
      const meter = isStream ? new EventMeter(mostEventsFor(maxTokens)) : null;
      const body = answer.body ? bounded(answer.body, times, meter, () => over.abort()) : null;
      return new Response(body, { status: answer.status, headers: answer.headers });
    } catch (error) {
      given?.throwIfAborted();
      throw connectionFault(error, times, names);
    }
  }

  async function modelFetch(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    const url = input instanceof Request ? input.url : String(input);
    if (new URL(url).origin !== origin) throw new Error(`a request to ${new URL(url).origin} and not to the model`);
    let left = times.longestWait;
    for (let tries = 1; ; tries += 1) {
      const answer = await once(url, init);
      if (answer.ok) return answer;
      const wait = retryAfter(answer.headers.get('retry-after'), new Date()) ?? 500 * 2 ** tries;
      const fault = statusFault(answer.status, await errorText(answer.body).catch(() => ''), names);
      const mayWait = answer.status === 429 || answer.status === 503;
      if (!mayWait || tries >= mostTries || wait > left) throw fault;
      left -= wait;
      await sleep(wait, undefined, init.signal ? { signal: init.signal } : {});
    }
  }
  return { fetch: modelFetch, close };
}
