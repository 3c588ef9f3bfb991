/**
 * How the operator's model is reached: at its own address and no other, without redirects, within bounds of time and bytes. It is the operator's
 * setting, so it may be on loopback or in a private network; nothing that people enter decides where a request goes.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { getCACertificates } from 'node:tls';
import { Agent, fetch as undiciFetch } from 'undici';
import { ModelFault } from '../../ports/model.ts';

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

/** Tries of one request, with those that were asked to wait. */
const mostTries = 4;

export interface ModelFetchOptions {
  /** Where all requests go: scheme, host and port. */
  origin: string;
  caFile?: string | undefined;
  timeouts?: Partial<ModelTimeouts> | undefined;
}

const seconds = (milliseconds: number) => Math.max(1, Math.round(milliseconds / 1000));

/** Milliseconds an answer asks to wait (RFC 9110 10.2.3); null when it says nothing that can be read. */
function retryAfter(text: string | null): number | null {
  if (text === null) return null;
  if (/^\d{1,6}(\.\d+)?$/.test(text.trim())) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now());
}

/** The faults of connections, by what undici calls them. */
function connectionFault(error: unknown, { headers, connect }: ModelTimeouts): ModelFault {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = (cause as { code?: string }).code ?? '';
  if (code === 'UND_ERR_HEADERS_TIMEOUT')
    return new ModelFault('slow', `The model has not begun to answer within ${seconds(headers)} s; try again later`, {
      cause,
    });
  if (code === 'UND_ERR_CONNECT_TIMEOUT')
    return new ModelFault('unreachable', `The model could not be reached within ${seconds(connect)} s`, { cause });
  return new ModelFault(
    'unreachable',
    'The model cannot be reached; an administrator finds the reason in the log, and the address in PORTICO_ASSISTANT_URL',
    { cause },
  );
}

/** Ends a body that is too long or stalls with a fault in the stream. */
function bounded(
  body: ReadableStream<Uint8Array>,
  { idle, total }: ModelTimeouts,
  abandon: () => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const began = performance.now();
  let bytes = 0;
  const fail = (fault: ModelFault): never => {
    abandon();
    throw fault;
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
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
        controller.enqueue(next.value);
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
function statusFault(status: number, text: string): ModelFault {
  const cause = new Error(`${status}: ${text.slice(0, 2_000)}`);
  const fault = (failure: ModelFault['failure'], message: string) => new ModelFault(failure, message, { cause });
  if (status >= 300 && status < 400)
    return fault('redirected', 'The address of the model redirects to another one; set PORTICO_ASSISTANT_URL to that');
  if (status === 401 || status === 403)
    return fault('key', 'The provider of the model refuses the key; an administrator has to set PORTICO_ASSISTANT_KEY');
  if (status === 404)
    return fault(
      'address',
      'The provider knows no such model or address; an administrator has to set PORTICO_ASSISTANT_MODEL and _URL',
    );
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

/** A `fetch` for the client of a provider, and how to close its connections. */
export function createModelFetch({ origin, caFile, timeouts }: ModelFetchOptions) {
  const times = { ...usualTimeouts, ...timeouts };
  const agent = new Agent({
    connect: {
      timeout: times.connect,
      ca: [...getCACertificates('default'), ...(caFile === undefined ? [] : [readFileSync(caFile, 'utf8')])],
    },
    headersTimeout: times.headers,
    // Bodies are timed as they are read.
    bodyTimeout: 0,
    connections: 256,
  });

  async function once(url: string, init: RequestInit): Promise<Response> {
    const given = init.signal;
    const over = new AbortController();
    const signal = given ? AbortSignal.any([given, over.signal]) : over.signal;
    try {
      const answer = await undiciFetch(url, { ...init, signal, redirect: 'manual', dispatcher: agent } as never);
      const body = answer.body
        ? bounded(answer.body as unknown as ReadableStream<Uint8Array>, times, () => over.abort())
        : null;
      return new Response(body, { status: answer.status, headers: [...answer.headers] });
    } catch (error) {
      given?.throwIfAborted();
      throw connectionFault(error, times);
    }
  }

  async function modelFetch(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    const url = input instanceof Request ? input.url : String(input);
    if (new URL(url).origin !== origin) throw new Error(`a request to ${new URL(url).origin} and not to the model`);
    let left = times.longestWait;
    for (let tries = 1; ; tries += 1) {
      const answer = await once(url, init);
      if (answer.ok) return answer;
      const wait = retryAfter(answer.headers.get('retry-after')) ?? 500 * 2 ** tries;
      const fault = statusFault(answer.status, await errorText(answer.body).catch(() => ''));
      const mayWait = answer.status === 429 || answer.status === 503;
      if (!mayWait || tries >= mostTries || wait > left) throw fault;
      left -= wait;
      await sleep(wait, undefined, init.signal ? { signal: init.signal } : {});
    }
  }
  return { fetch: modelFetch, close: () => agent.destroy() };
}
