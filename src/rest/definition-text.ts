import type { z } from 'zod';
import type { workflowVersion } from '../domain/workflows/workflow.schema.ts';
import type { RawAnswer } from './table.ts';

/** A version as it was written, with its comments, for those who ask for YAML. */
export function definitionText(
  { source }: z.output<typeof workflowVersion>,
  _input: Record<string, unknown>,
  _bytes: Buffer | undefined,
  accepts: (type: string) => boolean,
): RawAnswer | null {
  if (!accepts('application/yaml')) return null;
  return { type: 'application/yaml; charset=utf-8', content: Buffer.from(source), headers: { Vary: 'Accept' } };
}
