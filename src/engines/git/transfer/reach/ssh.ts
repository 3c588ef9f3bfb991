import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DomainError } from '../../../../domain/errors.ts';
import type { UpstreamAuth } from '../../../../domain/ports/git-transfer.ts';
import type { Reach, UpstreamOptions } from './reach.ts';
import { resolved } from './resolved.ts';
import { withScratch } from './scratch.ts';

/** @throws DomainError `invalid_request` for an address that is not one of ssh, or without a key; what `resolveUpstream` throws */
export async function withSsh<T>(
  text: string,
  auth: UpstreamAuth,
  options: UpstreamOptions,
  job: (way: Reach) => Promise<T>,
): Promise<T> {
  const url = parseAddress(text);
  if (auth.kind !== 'ssh_key') throw new DomainError('invalid_request', 'auth: an ssh address needs a key');
  const [address] = await resolved(url, options);
  const { sshKnownHosts } = options;
  if (sshKnownHosts === undefined)
    throw new DomainError('unavailable', 'This server knows no ssh hosts (PORTICO_SSH_KNOWN_HOSTS)');
  return withScratch(async (scratch) => {
    const file = join(scratch, 'key');
    await writeFile(file, `${auth.private_key.replaceAll('\r\n', '\n').trimEnd()}\n`, { mode: 0o600 });
    // Whatever the umask took away or left.
    await chmod(file, 0o600);
    const config = [['protocol.ssh.allow', 'always']] as const;
    const env = { GIT_SSH_COMMAND: sshCommand(url, address, file, sshKnownHosts), GIT_SSH_VARIANT: 'ssh' };
    return job({ url: url.href, config, env });
  });
}

function parseAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.protocol !== 'ssh:' || url.hostname === '')
    throw new DomainError(
      'invalid_request',
      'url: must be an ssh address (ssh://account@host/path) when the key is one of ssh',
    );
  if (url.password !== '' || !/^[\w.][\w.-]*$/.test(url.username))
    throw new DomainError('invalid_request', 'url: must name an account and contain no password');
  return url;
}

/** git gives this to a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * ssh that uses this key and no other, asks nobody, reads no configuration, and goes to the address that was checked; the host's key is
 * looked up by the name in the URL.
 */
function sshCommand(url: URL, address: string, key: string, knownHosts: string): string {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const alias = url.port === '' || url.port === '22' ? host : `[${host}]:${url.port}`;
  const settings = {
    HostName: address,
    HostKeyAlias: alias,
    CheckHostIP: 'no',
    IdentitiesOnly: 'yes',
    IdentityAgent: 'none',
    BatchMode: 'yes',
    StrictHostKeyChecking: 'yes',
    UserKnownHostsFile: `"${knownHosts.replaceAll('%', '%%')}"`,
    GlobalKnownHostsFile: '/dev/null',
    UpdateHostKeys: 'no',
    PreferredAuthentications: 'publickey',
    ControlPath: 'none',
    ConnectTimeout: '15',
    ServerAliveInterval: '15',
  };
  const options = Object.entries(settings).map(([name, value]) => `-o ${quoted(`${name}=${value}`)}`);
  return ['ssh', '-F /dev/null', '-T', `-i ${quoted(key)}`, ...options].join(' ');
}
