import type { Finding } from '../domain-verification.entity.ts';

/** What one method found, and what a proof covers. */
export interface Proof extends Finding {
  /** By dns the name with all below it, else the host; only when found. */
  proved?: string;
}
