import type { ImportSource, UpstreamAuth } from '../../../../domain/ports/git-transfer.ts';
import type { Config } from '../../git-child.ts';
import { reachHttps } from './https.ts';
import { withPath } from './path.ts';
import { withSsh } from './ssh.ts';

export interface UpstreamOptions {
  /** Plain http as well: for tests and a loopback of one's own. */
  allowHttp?: boolean;
  /** PEM file of further roots to trust. */
  caFile?: string;
  /** Resolves the host of an upstream, once, and refuses addresses that must not be reached. Without it nothing is fetched by URL. */
  resolveUpstream?: (url: URL) => Promise<{ addresses: string[] }>;
  /** Keys of the ssh hosts that may be connected to, as OpenSSH keeps them (sshd(8), SSH_KNOWN_HOSTS). Without it ssh is refused. */
  sshKnownHosts?: string;
  /** Processor time of one import, fetch or push to an upstream, seconds, for git and for each process it starts; default its wall time. */
  fetchCpu?: number;
}

/** What git needs to reach a repository elsewhere, and nothing beyond it. */
export interface Reach {
  url: string;
  config: Config;
  env: Record<string, string>;
}

/** An address, how it is spoken to, and the sign-in. */
export type Elsewhere = Pick<ImportSource, 'url' | 'kind' | 'auth'>;

/**
 * Does something with a repository elsewhere. Credentials are in the environment of git, which only this user can read, or in a file that
 * is gone afterwards.
 *
 * @throws DomainError `invalid_request` for an address or a sign-in of another kind; what `resolveUpstream` throws
 */
export async function withReach<T>(
  { url, kind, auth = { kind: 'none' } }: Elsewhere,
  options: UpstreamOptions,
  job: (way: Reach) => Promise<T>,
): Promise<T> {
  if (kind === 'path') return withPath(url, job);
  if (kind === 'ssh') return withSsh(url, auth, options, job);
  return job(await reachHttps(url, auth, options));
}

/** The kind of address a sign-in is for. */
export function kindFor(auth: UpstreamAuth): 'https' | 'ssh' {
  return auth.kind === 'ssh_key' ? 'ssh' : 'https';
}
