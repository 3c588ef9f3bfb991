import { createRequire } from 'node:module';
import type jsonata from 'jsonata';

const require = createRequire(import.meta.url);
let loaded: typeof jsonata | undefined;

/** JSONata's parser, loaded with the first expression: a start reads none. */
function parser(): typeof jsonata {
  loaded ??= require('jsonata') as typeof jsonata;
  return loaded;
}

/** A fault of an expression's text; `position` counts UTF-16 units from its start. */
export class ExpressionSyntaxError extends Error {
  override name = 'ExpressionSyntaxError';
  readonly position: number;

  constructor(message: string, position: number) {
    super(message);
    this.position = position;
  }
}

/** A node of JSONata's syntax tree, as far as it is looked at here. */
export interface ExpressionNode {
  type: string;
  value?: unknown;
  position?: number;
  [part: string]: unknown;
}

/** Longest expression, in UTF-8 bytes. */
export const maxExpressionBytes = 16 * 1024;

const isFault = (thrown: unknown): thrown is { message?: string; position?: number } =>
  typeof thrown === 'object' && thrown !== null;

/**
 * Reads JSONata (version 2).
 * @throws ExpressionSyntaxError when it is none, or longer than 16 KiB
 */
export function parseExpression(text: string): ExpressionNode {
  if (Buffer.byteLength(text) > maxExpressionBytes)
    throw new ExpressionSyntaxError(`is longer than ${maxExpressionBytes} bytes`, 0);
  try {
    const tree: object = parser()(text).ast();
    return tree as ExpressionNode;
  } catch (thrown) {
    const { message = 'is not JSONata', position = 0 } = isFault(thrown) ? thrown : {};
    throw new ExpressionSyntaxError(message, position);
  }
}
