import { isIP } from 'node:net';
import { DomainError } from '../../../../domain/errors.ts';
import type { UpstreamOptions } from './reach.ts';

/**
 * The addresses a host may be reached at; never none.
 *
 * @throws DomainError `unavailable` on a server that reaches no other hosts, `upstream_unavailable`; what `resolveUpstream` throws
 */
export async function resolved(url: URL, { resolveUpstream }: UpstreamOptions): Promise<[string, ...string[]]> {
  if (resolveUpstream === undefined) throw new DomainError('unavailable', 'This server cannot fetch from other hosts');
  const { addresses } = await resolveUpstream(url);
  const [first, ...others] = addresses.filter((address) => isIP(address) !== 0);
  if (first === undefined) throw new DomainError('upstream_unavailable', 'The host has no address');
  return [first, ...others];
}
