import { LRUCache } from 'lru-cache';
import { Pace } from '../../../lib/concurrency.ts';
import { leastJson } from '../../../lib/objects.ts';
import { ExpressionError, type Expressions } from '../../../ports/expressions.ts';
import { parseExpression } from './parse-expression.ts';
import { plainPath, referencesOf } from './references.ts';
import { asText, parseTemplate, type TemplatePart } from './template.ts';

/** What expressions see at their root: `input`, `steps`, `vars` and the like, each a JSON value. */
export type Scope = Readonly<Record<string, unknown>>;

export interface Evaluation {
  expressions: Expressions;
  scope: Scope;
  signal?: AbortSignal;
  /** Milliseconds each expression may take; default 1 s. */
  timeout?: number;
}

interface Compiled {
  /** Names that can be followed here, without the interpreter. */
  path: string[] | null;
  /** Names of the root that are read; null: all of it. */
  names: string[] | null;
  /** Of `steps`, which. */
  steps: string[] | null;
}

const kept = new LRUCache<string, Compiled>({ max: 2_000 });

function compile(text: string): Compiled {
  const known = kept.get(text);
  if (known !== undefined) return known;
  const tree = parseExpression(text);
  const references = referencesOf(tree);
  // The whole context can be read without naming anything of it.
  const takesAll = /\$\$?(?![\w$])|\*|%|@/.test(text.replace(/\$\$?\./g, ''));
  const steps = references.filter(({ root }) => root === 'steps').map(({ member }) => member);
  const compiled: Compiled = {
    path: plainPath(tree),
    names: takesAll ? null : [...new Set(references.map(({ root }) => root))],
    steps: takesAll || steps.includes(null) ? null : [...new Set(steps)].filter((id) => id !== null),
  };
  kept.set(text, compiled);
  return compiled;
}

/** Follows names over plain objects; null where a list is met, over which JSONata maps. */
function follow(scope: Scope, path: readonly string[]): { value: unknown } | null {
  let value: unknown = scope;
  for (const name of path) {
    if (Array.isArray(value)) return null;
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
  }
  return { value };
}

const picked = (from: unknown, names: readonly string[]): Record<string, unknown> => {
  const known = typeof from === 'object' && from !== null ? (from as Record<string, unknown>) : {};
  return Object.fromEntries(names.filter((name) => Object.hasOwn(known, name)).map((name) => [name, known[name]]));
};

/**
 * The value of JSONata over a context; undefined when it finds nothing. A plain dotted path is followed here; everything else is evaluated
 * apart, with no more of the context than it names.
 * @throws ExpressionError
 */
export async function evaluateExpression(
  text: string,
  { expressions, scope, signal, timeout }: Evaluation,
): Promise<unknown> {
  const { path, names: named, steps } = compile(text);
  const followed = path && follow(scope, path);
  if (followed) return followed.value;
  const context = named === null ? { ...scope } : picked(scope, named);
  if (steps !== null && 'steps' in context) context.steps = picked(context.steps, steps);
  return expressions.evaluate(text, context, {
    ...(signal && { signal }),
    ...(timeout !== undefined && { timeout }),
  });
}

const mebibyte = 1024 * 1024;
/** MiB of what templates make of one value: as much as an expression reads. A template may name the same body hundreds of times. */
const mostFilled = 32;

/** Sizes of what templates have named: the same outputs are named again by each iteration of a loop. */
const sizes = new WeakMap<object, number>();

/** One value being filled, with what its templates have taken of it so far. */
class Filling {
  readonly #evaluation: Evaluation;
  readonly #pace = new Pace();
  /** Texts of objects, each made once. */
  readonly #texts = new WeakMap<object, string>();
  #left = mostFilled * mebibyte;

  constructor(evaluation: Evaluation) {
    this.#evaluation = evaluation;
  }

  async fill(value: unknown): Promise<unknown> {
    if (typeof value === 'string') return this.#fillParts(parseTemplate(value));
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      for (const item of value) items.push((await this.fill(item)) ?? null);
      return items;
    }
    if (typeof value !== 'object' || value === null) return value;
    const filled: [string, unknown][] = [];
    for (const [key, item] of Object.entries(value)) {
      const made = await this.fill(item);
      if (made !== undefined) filled.push([key, made]);
    }
    return Object.fromEntries(filled);
  }

  async #fillParts(parts: readonly TemplatePart[]): Promise<unknown> {
    const [only] = parts;
    if (parts.length === 1 && only && 'expression' in only) {
      const value = await this.#evaluate(only.expression);
      this.#take(typeof value === 'object' && value !== null ? this.#sizeOf(value) : asText(value).length);
      return value;
    }
    const texts: string[] = [];
    for (const part of parts) {
      const text = 'text' in part ? part.text : this.#textOf(await this.#evaluate(part.expression));
      this.#take(text.length);
      texts.push(text);
    }
    return texts.join('');
  }

  async #evaluate(expression: string): Promise<unknown> {
    if (this.#pace.isDue) await this.#pace.yield();
    return evaluateExpression(expression, this.#evaluation);
  }

  #sizeOf(value: object): number {
    const size = sizes.get(value) ?? leastJson(value, mostFilled * mebibyte);
    sizes.set(value, size);
    return size;
  }

  #textOf(value: unknown): string {
    if (typeof value !== 'object' || value === null) return asText(value);
    const text = this.#texts.get(value) ?? asText(value);
    this.#texts.set(value, text);
    return text;
  }

  /** @throws ExpressionError `result_too_large` */
  #take(size: number): void {
    this.#left -= size;
    if (this.#left < 0)
      throw new ExpressionError('result_too_large', `what templates make of it is larger than ${mostFilled} MiB`);
  }
}

/**
 * Fills the templates in a value of any shape. A text that is nothing but one template becomes the template's value; a field whose template
 * finds nothing is left out, an item of a list becomes null. Yields to the event loop.
 * @throws ExpressionError `result_too_large` for more than 32 MiB, and what `evaluateExpression` throws
 */
export const fillTemplates = (value: unknown, evaluation: Evaluation): Promise<unknown> =>
  new Filling(evaluation).fill(value);

/** Whether a condition holds: what JSONata's `$boolean` says of its value; nothing is false. */
export async function holds(text: string, evaluation: Evaluation): Promise<boolean> {
  const value = await evaluateExpression(text, evaluation);
  if (typeof value === 'boolean') return value;
  return value !== undefined && (await evaluation.expressions.evaluate('$boolean(value)', { value })) === true;
}
