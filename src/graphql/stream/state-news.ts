import { createHash } from 'node:crypto';
import type { News } from './follow.ts';

/** The news of something of which only the present state counts: its position is a hash of it, so a client that knows it hears nothing. */
export function stateNews<T>(after: string | null, state: T, ended: boolean): News<T> {
  const position = createHash('sha256').update(JSON.stringify(state)).digest('base64url').slice(0, 16);
  return { events: position === after ? [] : [{ position, data: state }], ended };
}
