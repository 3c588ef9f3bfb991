import type { DnsResolver } from '../../../ports/dns.ts';
import type { Proof } from './proof.ts';
import { dnsName, dnsNames, dnsText } from './proof-places.ts';

/** Looks for the token in the TXT records of a host and of its registrable domain. */
export async function checkDns(dns: DnsResolver, host: string, token: string): Promise<Proof> {
  const names = dnsNames(host);
  const method = 'dns' as const;
  if (names.length === 0) return { method, outcome: 'absent', detail: 'An address has no name in DNS' };
  const missing: string[] = [];
  let unreachable: string | null = null;
  for (const name of names) {
    const at = dnsName(name);
    const answer = await dns.txt(at);
    if (answer.outcome === 'unreachable') unreachable ??= `${at} could not be asked for (${answer.reason})`;
    else if (answer.outcome === 'absent') missing.push(`${at} has no TXT record`);
    else if (answer.texts.some((text) => text.trim() === dnsText(token)))
      return { method, outcome: 'found', detail: `${at} holds the token`, proved: name };
    else missing.push(`${at} has TXT records, and none is ${dnsText(token)}`);
  }
  if (unreachable !== null) return { method, outcome: 'unreachable', detail: unreachable };
  return { method, outcome: 'absent', detail: missing.join('; ') };
}
