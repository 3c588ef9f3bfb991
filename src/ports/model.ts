/** A tool as a model is shown it. */
export interface ModelTool {
  name: string;
  description: string;
  /** JSON Schema of its arguments. */
  schema: object;
}

/** A call of a tool as a model made it; its arguments are a text that may be no JSON. */
export interface ModelCall {
  id: string;
  name: string;
  arguments: string;
}

export type ModelMessage =
  | { role: 'user'; text: string }
  | { role: 'assistant'; text: string; calls: readonly ModelCall[] }
  | { role: 'tool'; results: readonly { id: string; name: string; text: string; failed: boolean }[] };

/** One step: what a model answers to a conversation as it is. */
export interface ModelRequest {
  system: string;
  messages: readonly ModelMessage[];
  tools: readonly ModelTool[];
  signal: AbortSignal;
}

/** What comes of a step: texts as they are written, whole calls, and at the end how it went. */
export type ModelPart =
  | { kind: 'text'; text: string }
  | { kind: 'call'; call: ModelCall }
  | {
      kind: 'end';
      /** `length`: the answer has reached the most tokens it may have. */
      reason: 'done' | 'length' | 'refused';
      /** Tokens of question and answer, whole numbers; null where the provider reports none that can be. */
      usage: { input: number; output: number } | null;
    };

/** Failures of requests that no model has answered, and that have used no tokens. */
const unanswered = ['key', 'address', 'unreachable', 'redirected', 'rate_limited', 'overloaded'] as const;
/** Why a step did not come to its end. */
export const modelFailures = [...unanswered, 'slow', 'cut', 'malformed', 'too_long', 'refused'] as const;
export type ModelFailure = (typeof modelFailures)[number];

/** Says in `message`, for a person, what is wrong and what to do; the cause goes to the log only. */
export class ModelFault extends Error {
  override name = 'ModelFault';
  readonly failure: ModelFailure;

  constructor(failure: ModelFailure, message: string, options?: { cause: unknown }) {
    super(message, options);
    this.failure = failure;
  }

  get isUnanswered(): boolean {
    return (unanswered as readonly ModelFailure[]).includes(this.failure);
  }
}

/** A language model of a provider. */
export interface Model {
  /** As the provider names it. */
  name: string;
  /** Most tokens of one answer. */
  maxTokens: number;
  /**
   * Takes one step. It obeys what the provider says of waiting, within bounds, before the first part.
   * @throws ModelFault; an aborted signal rejects with its own reason
   */
  step(request: ModelRequest): AsyncIterable<ModelPart>;
  close(): Promise<void>;
}

export const modelProviders = ['openai', 'anthropic'] as const;

/** Which model is used, and how it is reached. */
export interface ModelSettings {
  /** The protocol its address speaks. */
  provider: (typeof modelProviders)[number];
  /** Base of the provider's API. */
  url: string;
  /** As the provider names it. */
  name: string;
  key: string | null;
}

/** The models a process reaches: the operator's, and those of organisations. */
export interface Models {
  /** The operator's; null where the settings name none. */
  readonly usual: (ModelSettings & { model: Model }) | null;
  /** Whether organisations may name an address. */
  readonly ownAddresses: boolean;
  /**
   * A model as an organisation has set it, for the caller to close.
   * @param guarded its address is the organisation's, so private networks are out of its reach; otherwise it is the operator's
   */
  open(organizationId: number, settings: ModelSettings, guarded: boolean): Model;
  close(): Promise<void>;
}
