import { ExpressionError } from '../../ports/expressions.ts';

/** A fault of the text of an expression or a template; `position` counts UTF-16 units from its start. */
export class ExpressionSyntaxError extends ExpressionError {
  override name = 'ExpressionSyntaxError';
  readonly position: number;

  constructor(message: string, position: number) {
    super('failed', message);
    this.position = position;
  }
}
