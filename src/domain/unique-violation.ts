import { UniqueConstraintViolationException } from '@mikro-orm/core';
import { fieldError } from './errors.ts';

/** Runs an insert; a row that is already there becomes `already_exists`, naming the field whose value is taken. */
export async function orTaken<T>(field: string, problem: string, insert: () => Promise<T>): Promise<T> {
  try {
    return await insert();
  } catch (error) {
    if (error instanceof UniqueConstraintViolationException) throw fieldError('already_exists', field, problem);
    throw error;
  }
}
