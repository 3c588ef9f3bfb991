import type { Step } from '../definition/step.schema.ts';

/** Methods that can be repeated without doing twice what they do (RFC 9110 9.2.2). */
const repeatable = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']);

/** How often a step is tried when its definition does not say; only failures that another try can help count. */
export function defaultAttempts(step: Step): number {
  if (step.type === 'operation') return 3;
  return step.type === 'http' && repeatable.has(step.method ?? 'GET') ? 3 : 1;
}
