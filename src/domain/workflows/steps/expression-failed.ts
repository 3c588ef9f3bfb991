import type { ExpressionError } from '../../ports/expressions.ts';
import type { StepResult } from './step-call.ts';

/** What an expression without a value means for a step that acts: it cannot help to try again, unless the server could evaluate nothing. */
export const expressionFailed = ({ fault, message }: ExpressionError): StepResult =>
  fault === 'unavailable'
    ? { kind: 'failed', error: { code: 'unavailable', message }, isRetryable: true }
    : { kind: 'failed', error: { code: 'bad_expression', message }, isRetryable: false };
