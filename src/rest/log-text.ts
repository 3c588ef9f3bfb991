import type { z } from 'zod';
import type { logPart } from '../domain/studio/deployments/get-log.operations.ts';
import type { RawAnswer } from './table.ts';

/** A part of a log as plain text; headers say where to go on, and whether anything can still come. */
export function logText(
  { next_offset, complete }: z.output<typeof logPart>,
  _input: Record<string, unknown>,
  bytes: Buffer | undefined,
): RawAnswer | null {
  if (bytes === undefined) return null;
  return {
    type: 'text/plain; charset=utf-8',
    content: bytes,
    headers: {
      'X-Content-Type-Options': 'nosniff',
      'X-Next-Offset': String(next_offset),
      'X-Log-Complete': String(complete),
    },
  };
}
