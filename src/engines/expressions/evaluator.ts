import { Validator } from '@cfworker/json-schema';
import jsonata from 'jsonata';
import { LRUCache } from 'lru-cache';
import { RE2JS } from 're2js';
import { isDeeper } from '../../kernel/json-input.ts';
import type { ExpressionFault } from '../../ports/expressions.ts';

/**
 * The part of `RegExp` that JSONata uses, on an engine whose time is linear in the text. JSONata hands over the `RegExp` it has read a
 * literal as, which it never runs itself.
 * @throws SyntaxError for what RE2 does not support (look-around, back references)
 */
class LinearRegex {
  readonly source: string;
  lastIndex = 0;
  readonly #compiled: RE2JS;

  constructor({ source, flags }: RegExp) {
    this.source = source;
    const options = (flags.includes('i') ? RE2JS.CASE_INSENSITIVE : 0) | (flags.includes('m') ? RE2JS.MULTILINE : 0);
    try {
      this.#compiled = RE2JS.compile(RE2JS.translateRegExp(source), options);
    } catch (cause) {
      throw new SyntaxError(`the pattern /${source}/ cannot be used: ${(cause as Error).message}`, { cause });
    }
  }

  /** The next match at or after `lastIndex`, which moves behind it; null and 0 without one (ECMA-262 22.2.7.2, global). */
  exec(text: string): (string[] & { index: number }) | null {
    const matcher = this.#compiled.matcher(text);
    if (this.lastIndex > text.length || !matcher.find(this.lastIndex)) {
      this.lastIndex = 0;
      return null;
    }
    const groups = Array.from({ length: matcher.groupCount() + 1 }, (_, group) => matcher.group(group) ?? '');
    this.lastIndex = matcher.end();
    return Object.assign(groups, { index: matcher.start() });
  }
}

/** A request to an evaluator. */
export type ExpressionTask =
  | { kind: 'evaluate'; expression: string; context: Record<string, unknown>; timeout: number }
  | { kind: 'validate'; schema: object; value: unknown };

type Evaluation = Extract<ExpressionTask, { kind: 'evaluate' }>;

/** What it answers; a value travels as JSON, so that nothing but JSON leaves. */
export type ExpressionAnswer =
  | { json: string | undefined }
  | { faults: { field: string; message: string }[] }
  | { fault: ExpressionFault; message: string };

/** Largest result, bytes of JSON. */
const mostResult = 1024 * 1024;
/** Its depth: later steps walk it recursively. */
const mostLevels = 200;
const mostFaults = 20;

const compiled = new LRUCache<string, jsonata.Expression>({ max: 200 });

function compile(text: string, timeout: number): jsonata.Expression {
  const key = `${timeout} ${text}`;
  const known = compiled.get(key);
  if (known !== undefined) return known;
  // The interpreter only makes and runs the patterns it is given; it uses no more of RegExp than this.
  const RegexEngine = LinearRegex as unknown as RegExpConstructor;
  const expression = jsonata(text, { RegexEngine, timeout, stack: 500, sequence: 100_000 });
  // What is data stays data.
  expression.registerFunction('eval', () => {
    throw Object.assign(new Error('$eval is not available'), { code: 'eval' });
  });
  compiled.set(key, expression);
  return expression;
}

class ForbiddenKey extends Error {}

const isFunction = (item: unknown): boolean =>
  typeof item === 'function' ||
  (typeof item === 'object' && item !== null && ('_jsonata_lambda' in item || '_jsonata_function' in item));

/** Lists of JSONata carry marks, functions are not JSON, and some keys have a meaning for readers of the objects. */
function asJson(value: unknown): string | undefined {
  return JSON.stringify(value, (key, item) => {
    if (key === '__proto__' || key === 'constructor' || key === 'prototype')
      throw new ForbiddenKey(`"${key}" is not a name that can be used`);
    return isFunction(item) ? undefined : item;
  });
}

const messageOf = (thrown: unknown): string =>
  typeof thrown === 'object' && thrown !== null && 'message' in thrown ? String(thrown.message) : String(thrown);

const codeOf = (thrown: unknown): unknown =>
  typeof thrown === 'object' && thrown !== null && 'code' in thrown ? thrown.code : undefined;

/** JSONata's codes for its caps on time, depth and length. */
const overTime = 'D1012';
const capCodes = new Set([overTime, 'D1011', 'D1015', 'U1001']);

/** The value of an expression. One that was not given half of its time, since the machine stood still, is evaluated again: it changes nothing. */
async function evaluated({ expression, context, timeout }: Evaluation): Promise<unknown> {
  for (;;) {
    const before = process.cpuUsage();
    try {
      return await compile(expression, timeout).evaluate(context);
    } catch (thrown) {
      const { user, system } = process.cpuUsage(before);
      if (codeOf(thrown) !== overTime || user + system > timeout * 500) throw thrown;
    }
  }
}

async function evaluate(task: Evaluation): Promise<ExpressionAnswer> {
  try {
    const json = asJson(await evaluated(task));
    if (json !== undefined && Buffer.byteLength(json) > mostResult)
      return { fault: 'result_too_large', message: `the result is larger than ${mostResult} bytes` };
    if (json !== undefined && isDeeper(Buffer.from(json), mostLevels))
      return { fault: 'result_too_large', message: `the result is nested more than ${mostLevels} levels deep` };
    return { json };
  } catch (thrown) {
    if (thrown instanceof ForbiddenKey) return { fault: 'forbidden_key', message: thrown.message };
    return { fault: capCodes.has(String(codeOf(thrown))) ? 'timeout' : 'failed', message: messageOf(thrown) };
  }
}

function validate({ schema, value }: Extract<ExpressionTask, { kind: 'validate' }>): ExpressionAnswer {
  try {
    const { errors } = new Validator(schema, '2020-12', false).validate(value);
    // Errors of a keyword that only passes on those of others say nothing new.
    const faults = errors.map(({ instanceLocation, error }) => ({
      field: instanceLocation.replace(/^#/, ''),
      message: error,
    }));
    return { faults: faults.slice(-mostFaults) };
  } catch (thrown) {
    return { fault: 'failed', message: messageOf(thrown) };
  }
}

process.on('message', async (task: ExpressionTask) => {
  process.send?.(task.kind === 'evaluate' ? await evaluate(task) : validate(task));
});
// The parent ends it: a signal to the whole group is ignored, and without a parent no answer is needed.
process.on('SIGINT', () => {});
process.on('disconnect', () => process.exit());
process.send?.('ready');
