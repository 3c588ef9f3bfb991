import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { AuditOutcome } from '../../kernel/services.ts';

/** One command, as it went. Append-only: a trigger refuses UPDATE, and DELETE outside retention. */
export const AuditRow = defineEntity({
  name: 'AuditRow',
  tableName: 'audit',
  properties: {
    id: p.uuid().primary(),
    at: p.datetime(3),
    organization_id: p.integer().nullable(),
    project_id: p.integer().nullable(),
    actor: p.text(),
    address: p.text().nullable(),
    action: p.text(),
    subject_type: p.text(),
    subject_id: p.text().nullable(),
    outcome: p.text().$type<AuditOutcome>(),
    changes: p.json<Record<string, unknown>>(),
    request_id: p.text(),
  },
});
export type AuditRow = InferEntity<typeof AuditRow>;
