import type { EntityManager } from '@mikro-orm/postgresql';
import { executeBound } from '../../../bound-query.ts';
import { packBody } from '../../deliveries/kept-body.ts';
import { SpareBuffers } from '../body/spare-buffers.ts';
import type { DedupOutcome } from './dedup.ts';
import type { ProvedCall } from './proved-call.ts';

// Headers and queries travel as texts: `json` keeps them to the letter. The bodies are one value, of which each row takes its part.
const insertSql = `
  insert into delivery (id, trigger_id, execution_id, outcome, method, headers, query, body, body_sha256, raw_size, raw_sha256, dedup_key,
    body_differs, auth_mode, secret_version, received_at)
  select id, trigger_id, execution_id, outcome, method, headers::json, query::json,
    case when body_sha256 is null then substring($2::bytea from body_at + 1 for body_size) end, body_sha256, raw_size, raw_sha256, dedup_key,
    body_differs, auth_mode, secret_version, received_at
  from json_to_recordset($1::json) as given (id uuid, trigger_id uuid, execution_id uuid, outcome text, method text, headers text,
    query text, body_at integer, body_size integer, body_sha256 text, raw_size integer, raw_sha256 text, dedup_key text, body_differs boolean,
    auth_mode text, secret_version integer, received_at timestamptz)`;

/** To compress a body below this size takes mostly the time to begin; bytes. */
const small = 16 * 1024;
/** When more calls than these are stored together, they come faster than that is worth: small bodies are then kept as they are. */
const few = 4;

/** For the bodies of calls that are stored together. */
const spare = new SpareBuffers(512 * 1024, 2);

/** The body as its row keeps it, of one call among so many. */
const keptBody = (body: Uint8Array, calls: number): Uint8Array =>
  calls > few && body.length < small ? body : packBody(body);

interface Decided {
  call: ProvedCall;
  outcome: DedupOutcome;
}

const rowOf = ({ call, outcome }: Decided, body_at: number, body_size: number) => ({
  id: call.delivery_id,
  trigger_id: call.trigger.id,
  execution_id: outcome.kind === 'new' ? call.execution_id : outcome.execution_id,
  outcome: outcome.kind === 'new' ? 'accepted' : 'duplicate',
  method: call.method,
  headers: JSON.stringify(call.headers),
  query: JSON.stringify(call.query),
  body_at,
  body_size,
  body_sha256: call.body === null ? call.raw_sha256 : null,
  raw_size: call.raw_size,
  raw_sha256: call.raw_sha256,
  dedup_key: call.dedup_key,
  body_differs: outcome.kind === 'duplicate' && outcome.body_differs,
  auth_mode: call.trigger.auth_mode,
  secret_version: call.secret_version,
  received_at: call.received_at,
});

/** Writes the rows of calls that were proved, duplicates too. */
export async function insertDeliveries(em: EntityManager, deliveries: readonly Decided[]): Promise<void> {
  if (deliveries.length === 0) return;
  let at = 0;
  const bodies = deliveries.map(({ call }) => call.body && keptBody(call.body, deliveries.length));
  const rows = deliveries.map((decided, index) => {
    const size = bodies[index]?.length ?? 0;
    const row = rowOf(decided, at, size);
    at += size;
    return row;
  });
  const memory = spare.take(at);
  for (const [index, body] of bodies.entries()) if (body) memory.set(body, rows[index]?.body_at);
  await executeBound(em, insertSql, [JSON.stringify(rows), memory.subarray(0, at)]);
  spare.give(memory);
}
