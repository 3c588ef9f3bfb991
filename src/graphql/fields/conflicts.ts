import { DomainError } from '../../kernel/errors.ts';

/** The conflicts a command met: in GraphQL they are an answer, for a client has to show them. Any other refusal is thrown again. */
export function conflictsIn(error: unknown): unknown[] {
  if (error instanceof DomainError && error.code === 'merge_conflict')
    return (error.details?.conflicts ?? []) as unknown[];
  throw error;
}
