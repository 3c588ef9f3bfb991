import { z } from 'zod';
import { readDefinition } from '../../../src/domain/workflows/definition/read-definition.ts';
import { stepOperationsOf } from '../../../src/domain/workflows/step-operations.ts';
import { projectOperation } from '../../../src/kernel/operation.ts';

const branchOperation = projectOperation({
  name: 'studio.createBranch',
  kind: 'query',
  permission: 'edit_studio',
  summary: 'Create a branch',
  input: z.object({ name: z.string(), from: z.string().optional(), force: z.boolean().optional() }),
  output: z.null(),
  execute: async () => null,
});
const operations = stepOperationsOf([branchOperation]);

/** Reads a definition where there is one operation, `studio.createBranch`. */
export const read = (source: string) => readDefinition(source, operations);
/** A definition with these steps, below `more`. */
export const withSteps = (steps: string, more = '') => `portico: workflow/1\n${more}steps:\n${steps}`;
/** What is wrong with a definition: field, code and line. */
export const faults = async (source: string) =>
  (await read(source)).errors.map(({ field, code, line }) => [field, code, line]);
