import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

export type AuditOutcome = 'ok' | 'denied' | 'failed';

/** One command, as it went. Append-only: a trigger refuses UPDATE, and DELETE outside retention. */
export const AuditRow = defineEntity({
  name: 'AuditRow',
  tableName: 'audit',
  properties: {
    id: p.uuid().primary(),
    at: p.datetime(),
    organization_id: p.integer().nullable(),
    project_id: p.integer().nullable(),
    actor: p.string(),
    address: p.string().nullable(),
    action: p.string(),
    subject_type: p.string(),
    subject_id: p.string().nullable(),
    outcome: p.string().$type<AuditOutcome>(),
    changes: p.json<Record<string, unknown>>(),
    request_id: p.string(),
  },
});
export type AuditRow = InferEntity<typeof AuditRow>;
