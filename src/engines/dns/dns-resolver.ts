import { NODATA, NOTFOUND } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import type { DnsResolver } from '../../ports/dns.ts';

/** Milliseconds for the first try of a server; the second waits longer. */
const timeout = 3_000;
const tries = 2;

/** Codes for an empty answer: the name does not exist, or has no TXT record (RFC 2308). */
const absences = new Set<string | undefined>([NODATA, NOTFOUND]);

/**
 * A resolver that queries the given servers, `address[:port]`; without any, those of the system.
 * @throws TypeError for an invalid address
 */
export function createDnsResolver(servers: readonly string[]): DnsResolver {
  return {
    async txt(name) {
      const resolver = new Resolver({ timeout, tries });
      if (servers.length > 0) resolver.setServers(servers);
      try {
        return { outcome: 'records', texts: (await resolver.resolveTxt(name)).map((parts) => parts.join('')) };
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        return absences.has(code) ? { outcome: 'absent' } : { outcome: 'unreachable', reason: code ?? 'error' };
      }
    },
  };
}
