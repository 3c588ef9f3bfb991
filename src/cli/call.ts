import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import type { AllServices } from '../domain/services.ts';
import { type Permission, permissionNames, systemActor } from '../kernel/actor.ts';
import { DomainError } from '../kernel/errors.ts';
import type { Operation, Scope } from '../kernel/operation.ts';
import { run } from '../kernel/run.ts';

/**
 * Runs an operation as `system:cli`, which has every permission: a user who can read the data directory could do everything by hand.
 * @throws DomainError for refusals.
 */
export function call<S extends Scope, In extends z.ZodObject, Out extends z.ZodType, Also extends Permission>(
  services: AllServices,
  operation: Operation<S, In, Out, Also>,
  input: Record<string, unknown>,
  { signal = new AbortController().signal, onPhase }: { signal?: AbortSignal; onPhase?: (phase: string) => void } = {},
): Promise<z.input<Out>> {
  const actor = systemActor('cli', permissionNames, services.settings.public_host, true);
  return run(
    operation,
    {
      services,
      actor,
      conditions: {},
      signal,
      request_id: randomUUID(),
      address: null,
      facts: {},
      ...(onPhase && { onPhase }),
    },
    input,
  );
}

/** The output of an operation, or null when its subject does not exist. */
export async function callOrNull<
  S extends Scope,
  In extends z.ZodObject,
  Out extends z.ZodType,
  Also extends Permission,
>(
  services: AllServices,
  operation: Operation<S, In, Out, Also>,
  input: Record<string, unknown>,
): Promise<z.input<Out> | null> {
  try {
    return await call(services, operation, input);
  } catch (error) {
    if (error instanceof DomainError && error.code === 'not_found') return null;
    throw error;
  }
}
