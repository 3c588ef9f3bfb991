/** Why a call of a known webhook was refused. */
export const refusalReasons = [
  'disabled',
  'no_secret',
  'method',
  'credential',
  'signature',
  'too_many_failures',
  'too_large',
  'timeout',
  'encoding',
  'rate_limit',
  'backlog',
  'unavailable',
] as const;
export type RefusalReason = (typeof refusalReasons)[number];
