import { DomainError } from '../../errors.ts';

/** The field a refusal of a single operation begins with, where it names one. */
const fieldOf = /^([a-z_]+)(?:\.[^:]*)?: /;

/** Lets a refusal say which action of a change it is about. @param at position of the action */
function named(error: DomainError, at: number, fields: object): DomainError {
  const { code, message, details, cause } = error;
  const field = fieldOf.exec(message)?.[1];
  const isField = field !== undefined && Object.hasOwn(fields, field);
  const faults = details?.errors ?? [{ field: '', code, message }];
  const errors = faults.map((fault) => ({ ...fault, field: `/actions/${at}${fault.field}` }));
  return new DomainError(code, `actions.${at}${isField ? '.' : ': '}${message}`, {
    details: { ...details, errors },
    ...(cause !== undefined && { cause }),
  });
}

/** Runs the part of a change that one action is responsible for. */
export async function naming<T>(at: number, action: object, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof DomainError ? named(error, at, action) : error;
  }
}
