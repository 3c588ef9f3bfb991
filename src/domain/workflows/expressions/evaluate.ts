import { LRUCache } from 'lru-cache';
import type { Expressions } from '../../../ports/expressions.ts';
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

async function fillParts(parts: readonly TemplatePart[], evaluation: Evaluation): Promise<unknown> {
  const [only] = parts;
  if (parts.length === 1 && only && 'expression' in only) return evaluateExpression(only.expression, evaluation);
  const texts: string[] = [];
  for (const part of parts)
    texts.push('text' in part ? part.text : asText(await evaluateExpression(part.expression, evaluation)));
  return texts.join('');
}

/**
 * Fills the templates in a value of any shape. A text that is nothing but one template becomes the template's value; a field whose template
 * finds nothing is left out, an item of a list becomes null.
 */
export async function fillTemplates(value: unknown, evaluation: Evaluation): Promise<unknown> {
  if (typeof value === 'string') return fillParts(parseTemplate(value), evaluation);
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const item of value) items.push((await fillTemplates(item, evaluation)) ?? null);
    return items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const filled: [string, unknown][] = [];
  for (const [key, item] of Object.entries(value)) {
    const made = await fillTemplates(item, evaluation);
    if (made !== undefined) filled.push([key, made]);
  }
  return Object.fromEntries(filled);
}

/** Whether a condition holds: what JSONata's `$boolean` says of its value; nothing is false. */
export async function holds(text: string, evaluation: Evaluation): Promise<boolean> {
  const value = await evaluateExpression(text, evaluation);
  if (typeof value === 'boolean') return value;
  return value !== undefined && (await evaluation.expressions.evaluate('$boolean(value)', { value })) === true;
}
