/**
 * A language model behind the clients of the AI SDK: any endpoint that speaks OpenAI's protocol, or Anthropic's. Only one step is taken at a time,
 * by the provider's `doStream`, so what follows from it is decided, and stored, by the caller. The clients are loaded where a model is set up.
 */
import type { LanguageModel } from 'ai';
import { Pace } from '../../lib/concurrency.ts';
import type { GuardedHttp } from '../../ports/http.ts';
import type { Log } from '../../ports/log.ts';
import {
  type Model,
  ModelFault,
  type ModelMessage,
  type ModelPart,
  type ModelRequest,
  type ModelSettings,
  type Models,
} from '../../ports/model.ts';
import { checkArguments, checkCalls } from './answer-bounds.ts';
import { createModelFetch, type ModelFetchOptions } from './model-fetch.ts';

type Provider = Extract<LanguageModel, { specificationVersion: 'v4' }>;
type Prompt = Parameters<Provider['doStream']>[0]['prompt'];

export interface ModelOptions extends ModelSettings, Omit<ModelFetchOptions, 'origin'> {
  maxTokens: number;
  log: Log;
}

/** Anthropic's own address. */
export const anthropicUrl = 'https://api.anthropic.com/v1';

/** What a model sees of arguments it once wrote that are no JSON object. */
function argumentsOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

function messageOf(message: ModelMessage): Prompt[number] {
  if (message.role === 'user') return { role: 'user', content: [{ type: 'text', text: message.text }] };
  if (message.role === 'assistant') {
    const calls = message.calls.map((call) => ({
      type: 'tool-call' as const,
      toolCallId: call.id,
      toolName: call.name,
      input: argumentsOf(call.arguments),
    }));
    const texts = message.text === '' ? [] : [{ type: 'text' as const, text: message.text }];
    return { role: 'assistant', content: [...texts, ...calls] };
  }
  const content = message.results.map(({ id, name, text, failed }) => ({
    type: 'tool-result' as const,
    toolCallId: id,
    toolName: name,
    output: { type: failed ? ('error-text' as const) : ('text' as const), value: text },
  }));
  return { role: 'tool', content };
}

class SdkModel implements Model {
  readonly name: string;
  readonly maxTokens: number;
  readonly #options: ModelOptions;
  readonly #connections: ReturnType<typeof createModelFetch>;
  #provider: Promise<Provider> | undefined;

  constructor(options: ModelOptions) {
    this.#options = options;
    this.name = options.name;
    this.maxTokens = options.maxTokens;
    this.#connections = createModelFetch({ ...options, origin: new URL(options.url).origin });
  }

  #load(): Promise<Provider> {
    this.#provider ??= this.#open();
    return this.#provider;
  }

  async #open(): Promise<Provider> {
    const { provider, url, key, name } = this.#options;
    const shared = { baseURL: url, fetch: this.#connections.fetch as typeof fetch };
    if (provider === 'anthropic') {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      // Without a key the client would look for one in the environment.
      return createAnthropic({ ...shared, apiKey: key ?? 'none' })(name);
    }
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    return createOpenAICompatible({
      ...shared,
      name: 'assistant',
      includeUsage: true,
      ...(key !== null && { apiKey: key }),
    }).chatModel(name);
  }

  async *step(request: ModelRequest): AsyncIterable<ModelPart> {
    const { signal } = request;
    try {
      const provider = await this.#load();
      const { stream } = await provider.doStream({
        prompt: [{ role: 'system', content: request.system }, ...request.messages.map(messageOf)],
        maxOutputTokens: this.maxTokens,
        abortSignal: signal,
        tools: request.tools.map(({ name, description, schema }) => ({
          type: 'function',
          name,
          description,
          inputSchema: schema,
        })),
      });
      yield* partsOf(stream as never);
    } catch (error) {
      signal.throwIfAborted();
      const fault = asFault(error);
      const { key, log } = this.#options;
      // A provider may repeat what it was sent.
      const reason = String(fault.cause ?? fault.message).replaceAll(key || '\u0000', '[redacted]');
      log.warn(
        { failure: fault.failure, model: this.name, reason: reason.slice(0, 2_000) },
        'a step of the model failed',
      );
      throw fault;
    }
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }
}

function asFault(error: unknown): ModelFault {
  if (error instanceof ModelFault) return error;
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof ModelFault) return cause;
  const message = error instanceof Error ? error.message : String(error);
  if (/without a finish reason|terminated|aborted/i.test(message))
    return new ModelFault('cut', 'The connection to the model broke in the middle of its answer', { cause: error });
  return new ModelFault('malformed', 'The answer of the model cannot be read; the log has the reason', {
    cause: error,
  });
}

/** Tokens that no question and no answer goes beyond: the largest models read as many. */
const mostTokens = 10_000_000;

/** Whether a number can be one of tokens: a provider may report anything, and what it reports is counted against a limit. */
const isCount = (tokens: number) => Number.isInteger(tokens) && tokens >= 0 && tokens <= mostTokens;

/** What a provider reports; null: nothing that can be. A question has tokens, so none of it means that they were not counted. */
const usageOf = (input = 0, output = -1) => (isCount(input) && isCount(output) && input > 0 ? { input, output } : null);

type Stream = Awaited<ReturnType<Provider['doStream']>>['stream'];

/** The parts of a provider's stream that count here. */
async function* partsOf(stream: Stream): AsyncIterable<ModelPart> {
  // What has come is read without a wait, and one piece of a connection may hold thousands of parts.
  const pace = new Pace();
  let calls = 0;
  for await (const part of stream as Stream &
    AsyncIterable<Awaited<ReturnType<ReturnType<Stream['getReader']>['read']>>['value']>) {
    if (pace.isDue) await pace.yield();
    if (!part) continue;
    if (part.type === 'text-delta') yield { kind: 'text', text: part.delta };
    else if (part.type === 'tool-input-start') checkCalls(++calls);
    else if (part.type === 'tool-call') {
      checkArguments(part.input);
      yield { kind: 'call', call: { id: part.toolCallId, name: part.toolName, arguments: part.input } };
    } else if (part.type === 'error') throw part.error;
    else if (part.type === 'finish') {
      const { unified, raw } = part.finishReason;
      if (raw === undefined)
        throw new ModelFault('cut', 'The connection to the model broke in the middle of its answer');
      yield {
        kind: 'end',
        reason: unified === 'length' ? 'length' : unified === 'content-filter' ? 'refused' : 'done',
        usage: usageOf(part.usage.inputTokens.total, part.usage.outputTokens.total),
      };
    }
  }
}

export const createModel = (options: ModelOptions): Model => new SdkModel(options);

export interface ModelsOptions extends Pick<ModelOptions, 'maxTokens' | 'caFile' | 'log'> {
  /** The operator's model. */
  usual: ModelSettings | null;
  ownAddresses: boolean;
  http: GuardedHttp;
}

export function createModels({ usual, ownAddresses, http, ...shared }: ModelsOptions): Models {
  const model = usual && createModel({ ...usual, ...shared });
  return {
    usual: usual && model && { ...usual, model },
    ownAddresses,
    open: (id, settings, guarded) =>
      createModel({
        ...{ ...settings, ...shared, owner: 'organization' },
        ...(guarded && { guard: { http, policy: { pool: `assistant ${id}` } } }),
      }),
    close: async () => model?.close(),
  };
}
