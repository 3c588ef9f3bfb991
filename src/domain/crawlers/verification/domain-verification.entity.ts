import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

export const verificationStates = ['none', 'pending', 'verified', 'failed', 'lost'] as const;
export const proofMethods = ['dns', 'file', 'meta'] as const;
export const verificationMethods = [...proofMethods, 'operator'] as const;
export const findingOutcomes = ['found', 'absent', 'unreachable'] as const;

export type ProofMethod = (typeof proofMethods)[number];

/** What one method found. `unreachable` says nothing about the proof. */
export interface Finding {
  method: ProofMethod;
  outcome: (typeof findingOutcomes)[number];
  /** For people. */
  detail: string;
}

/** How an organisation stands to one host. */
export const DomainVerification = defineEntity({
  name: 'DomainVerification',
  tableName: 'domain_verification',
  properties: {
    id: p.integer().primary().autoincrement(),
    organization_id: p.integer(),
    /** `name` or `name:port`. */
    host: p.text(),
    state: p.text().$type<Exclude<(typeof verificationStates)[number], 'none'>>(),
    method: p.text().$type<ProofMethod>().nullable(),
    /** What the proof covers: by dns a name with all below it, else this host and its sibling. */
    proved: p.text().nullable(),
    checks: p.json<Finding[]>(),
    checked_at: p.datetime(3).nullable(),
    verified_at: p.datetime(3).nullable(),
    /** Since when the proof of a verified host is missing; null while it is found, or could not be looked up. */
    absent_since: p.datetime(3).nullable(),
  },
  uniques: [{ properties: ['organization_id', 'host'] }],
});
export type DomainVerification = InferEntity<typeof DomainVerification>;
