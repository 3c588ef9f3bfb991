import type { Services } from '../../services.ts';
import { policyFor } from './crawl-policy.ts';
import { type ProofMethod, proofMethods } from './domain-verification.entity.ts';
import { checkDns } from './proof/check-dns.ts';
import { checkFile, checkMeta } from './proof/check-web.ts';
import type { Proof } from './proof/proof.ts';

interface Check {
  organization_id: number;
  host: string;
  token: string;
  /** Null: every method. */
  method: ProofMethod | null;
  signal: AbortSignal;
}

/** Looks for the proof of a host, all methods at the same time. @returns what each found, in the order of the methods */
export function checkHost(
  services: Pick<Services, 'http' | 'dns' | 'settings'>,
  { organization_id, host, token, method, signal }: Check,
): Promise<Proof[]> {
  const web = { http: services.http, policy: policyFor(services, { organization_id }), signal, host, token };
  const by: Record<ProofMethod, () => Promise<Proof>> = {
    dns: () => checkDns(services.dns, host, token),
    file: () => checkFile(web),
    meta: () => checkMeta(web),
  };
  return Promise.all((method ? [method] : proofMethods).map((name) => by[name]()));
}
