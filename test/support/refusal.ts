import { expect } from 'vitest';
import type { Answer } from './app.ts';

/** The whole of a refusal, so that nothing more leaves than is documented. @param message a text or a pattern */
export function expectRefusal(answer: Answer, status: number, code: string, message: string | RegExp): void {
  const { details, ...body } = answer.body;
  expect({ ...body, status: answer.status }).toEqual({
    status,
    message: typeof message === 'string' ? message : expect.stringMatching(message),
    error: true,
    code,
    request_id: answer.headers.get('x-request-id'),
  });
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  if (details === undefined) return;
  expect(details).toBeTypeOf('object');
  for (const { field } of details.errors ?? []) expect(field).toMatch(/^(\/.+)?$/);
}
