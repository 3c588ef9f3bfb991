import type { EntityManager } from '@mikro-orm/postgresql';
import type { ProvedCall } from './accept.ts';
import type { DedupOutcome } from './dedup.ts';

const columns = [
  'id',
  'trigger_id',
  'execution_id',
  'outcome',
  'method',
  'headers',
  'query',
  'body',
  'body_sha256',
  'raw_size',
  'raw_sha256',
  'dedup_key',
  'body_differs',
  'auth_mode',
  'secret_version',
  'received_at',
];
const places = `(${columns.map(() => '?').join(', ')})`;

/** Writes the rows of calls that were proved, duplicates too. */
export async function insertDeliveries(
  em: EntityManager,
  deliveries: readonly { call: ProvedCall; outcome: DedupOutcome }[],
): Promise<void> {
  if (deliveries.length === 0) return;
  const values = deliveries.flatMap(({ call, outcome }) => [
    call.delivery_id,
    call.trigger.id,
    outcome.kind === 'new' ? call.execution_id : outcome.execution_id,
    outcome.kind === 'new' ? 'accepted' : 'duplicate',
    call.method,
    JSON.stringify(call.headers),
    JSON.stringify(call.query),
    call.body,
    call.body === null ? call.raw_sha256 : null,
    call.raw_size,
    call.raw_sha256,
    call.dedup_key,
    outcome.kind === 'duplicate' && outcome.body_differs,
    call.trigger.auth_mode,
    call.secret_version,
    call.received_at,
  ]);
  const rows = deliveries.map(() => places).join(', ');
  await em.execute(`insert into delivery (${columns.join(', ')}) values ${rows}`, values);
}
