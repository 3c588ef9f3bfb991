/** One step of the model within the tokens of its organisation: the most it may take is reserved before it, what it has not used is given back. */
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../../kernel/services.ts';
import { type Model, type ModelCall, ModelFault, type ModelRequest, type ModelTool } from '../../../ports/model.ts';
import { type Budget, estimateTokens, releaseTokens, reserveTokens } from '../budget.ts';
import { Fenced } from './reply-store.ts';

interface StepOptions {
  model: Model;
  request: ModelRequest;
  budget: Budget;
  /** What a person can do about an answer that has reached the most tokens it may have. */
  ifTooLong: string;
}

/** PostgreSQL keeps no NUL. */
export const storable = (text: string): string => text.replaceAll('\u0000', '');

/** Of lists that are the same for every step. */
const lengths = new WeakMap<readonly ModelTool[], number>();

function lengthOf(tools: readonly ModelTool[]): number {
  const known = lengths.get(tools) ?? JSON.stringify(tools).length;
  lengths.set(tools, known);
  return known;
}

export class ModelStep {
  /** What has come of the answer. */
  text = '';
  readonly calls: ModelCall[] = [];
  readonly #options: StepOptions;
  /** Tokens of the question. */
  readonly #question: number;
  #reservation: string | null = null;
  #known: number | null = null;

  constructor(options: StepOptions) {
    const { messages, system, tools } = options.request;
    this.#options = options;
    this.#question = estimateTokens(JSON.stringify(messages).length + system.length + lengthOf(tools));
  }

  /** Counts the most tokens it may use. @throws DomainError `tokens_used` */
  async reserve(em: EntityManager): Promise<void> {
    const { budget, model } = this.#options;
    const question = this.#question;
    this.#reservation = await reserveTokens(em, budget, { tokens: question + model.maxTokens, question });
  }

  /** Gives back what it has not used, unless that was done before. */
  async release(em: EntityManager): Promise<void> {
    if (this.#reservation !== null) await releaseTokens(em, this.#reservation, this.used);
  }

  /** Tokens it has used, estimated upward where the provider does not say, and for an answer that was cut off. */
  get used(): number {
    const calls = this.calls.length === 0 ? 0 : JSON.stringify(this.calls).length;
    return this.#known ?? this.#question + estimateTokens(this.text.length + calls);
  }

  /**
   * Takes the step.
   * @param onText called with each piece of text
   * @throws ModelFault, also for an answer that is too long or withheld; an aborted signal's reason
   */
  async take(onText: (piece: string) => void = () => {}): Promise<void> {
    const { model, request, ifTooLong } = this.#options;
    try {
      for await (const part of model.step(request)) {
        if (part.kind === 'text') {
          const piece = storable(part.text);
          this.text += piece;
          onText(piece);
        } else if (part.kind === 'call') this.calls.push(part.call);
        else {
          this.#known = part.usage && part.usage.input + part.usage.output;
          if (part.reason === 'length' && this.calls.length === 0)
            throw new ModelFault('too_long', `The answer has reached the most tokens it may have; ${ifTooLong}`);
          if (part.reason === 'refused')
            throw new ModelFault('refused', 'The provider of the model has withheld the answer');
          return;
        }
      }
      throw new ModelFault('cut', 'The answer of the model was cut off; try again');
    } catch (error) {
      if (error instanceof ModelFault && error.isUnanswered) this.#known = 0;
      throw error;
    }
  }
}

/**
 * Gives a step to `act`, with its tokens reserved meanwhile. What another process has taken over is left to that one to count.
 * @throws DomainError `tokens_used`; what `act` throws
 */
export async function withModelStep<T>(
  { orm, log }: Pick<Services, 'orm' | 'log'>,
  options: StepOptions,
  act: (step: ModelStep) => Promise<T>,
): Promise<T> {
  const step = new ModelStep(options);
  const release = () =>
    step
      .release(orm.em.fork())
      .catch((err: unknown) => log.warn({ err }, 'tokens that were reserved stay counted for some minutes'));
  await step.reserve(orm.em.fork());
  try {
    const result = await act(step);
    await release();
    return result;
  } catch (error) {
    if (!(error instanceof Fenced)) await release();
    throw error;
  }
}
