/** Which workflow calls, and of which organization. */
export interface Caller {
  workflow_id: string;
  organization_id: number;
}

/**
 * Why an expression has no value: JSONata's own complaint (`failed`), or one of the caps on time, memory and the size of the result, or a
 * key that objects give a meaning of their own. `unavailable` is no fault of it: the server is stopping, or could start no process.
 */
export type ExpressionFault =
  | 'failed'
  | 'timeout'
  | 'too_much_memory'
  | 'result_too_large'
  | 'forbidden_key'
  | 'unavailable';

export class ExpressionError extends Error {
  override name = 'ExpressionError';
  readonly fault: ExpressionFault;

  constructor(fault: ExpressionFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

/** Evaluates users' expressions, off the event loop and within limits. */
export interface Expressions {
  /** The same on behalf of a workflow: slow expressions of one workflow, or of one organization, do not keep others waiting. */
  of(caller: Caller): Expressions;
  /**
   * The value of a JSONata expression over a context of JSON values; undefined when it finds nothing.
   * @param timeout milliseconds; default 1 s
   * @throws ExpressionError
   */
  evaluate(
    expression: string,
    context: Readonly<Record<string, unknown>>,
    options?: { timeout?: number; signal?: AbortSignal },
  ): Promise<unknown>;
  /** Faults of a value by a JSON Schema, each with a JSON Pointer into the value; none when it is valid. @throws ExpressionError */
  validate(schema: object, value: unknown): Promise<{ field: string; message: string }[]>;
  close(): Promise<void>;
}
