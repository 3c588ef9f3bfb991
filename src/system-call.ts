import { randomUUID } from 'node:crypto';
import type { Actor } from './domain/identity/actor.ts';
import type { Call } from './domain/operation.ts';
import type { Services } from './domain/services.ts';

/** A call of the service itself, with every permission in the organisations it works on. */
export function systemCall(services: Services, actor: Actor): Call {
  return {
    services,
    actor,
    conditions: {},
    signal: new AbortController().signal,
    request_id: randomUUID(),
    address: null,
    facts: {},
  };
}
