import { createRequire } from 'node:module';
import type jsonata from 'jsonata';
import { ExpressionError } from '../../../ports/expressions.ts';

/** A fault of the text of an expression or a template; `position` counts UTF-16 units from its start. */
export class ExpressionSyntaxError extends ExpressionError {
  override name = 'ExpressionSyntaxError';
  readonly position: number;

  constructor(message: string, position: number) {
    super('failed', message);
    this.position = position;
  }
}

const require = createRequire(import.meta.url);
let loaded: typeof jsonata | undefined;

/** JSONata's parser, loaded with the first expression: a start reads none. */
function parser(): typeof jsonata {
  loaded ??= require('jsonata') as typeof jsonata;
  return loaded;
}

/** A node of JSONata's syntax tree, as far as it is looked at here. */
export interface ExpressionNode {
  type: string;
  value?: unknown;
  position?: number;
  [part: string]: unknown;
}

/** Longest expression, in UTF-8 bytes. */
const maxBytes = 16 * 1024;
/** Nodes within nodes: the interpreter goes no deeper when it evaluates. */
const maxLevels = 500;
const tooDeep = `is nested more than ${maxLevels} levels deep`;

const isFault = (thrown: unknown): thrown is { message?: string; position?: number } =>
  typeof thrown === 'object' && thrown !== null;

/** Whether a tree has more levels of nodes than may be; without going down by calls, of which there may be too many. */
function isTooDeep(tree: object): boolean {
  const left: { value: object; level: number }[] = [{ value: tree, level: 0 }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { value } = next;
    const level = 'type' in value && typeof value.type === 'string' ? next.level + 1 : next.level;
    if (level > maxLevels) return true;
    for (const part of Object.values(value))
      if (typeof part === 'object' && part !== null) left.push({ value: part, level });
  }
  return false;
}

function parse(text: string): object {
  try {
    return parser()(text).ast();
  } catch (thrown) {
    if (thrown instanceof RangeError) throw new ExpressionSyntaxError(tooDeep, 0);
    const { message = 'is not JSONata', position = 0 } = isFault(thrown) ? thrown : {};
    throw new ExpressionSyntaxError(message, position);
  }
}

/**
 * Reads JSONata (version 2).
 * @throws ExpressionSyntaxError when it is none, longer than 16 KiB or nested more than 500 levels deep
 */
export function parseExpression(text: string): ExpressionNode {
  if (Buffer.byteLength(text) > maxBytes) throw new ExpressionSyntaxError(`is longer than ${maxBytes} bytes`, 0);
  const tree = parse(text);
  if (isTooDeep(tree)) throw new ExpressionSyntaxError(tooDeep, 0);
  return tree as ExpressionNode;
}
