import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DomainError } from '../../../domain/errors.ts';
import type { Upstream, UpstreamAuth } from '../../../domain/ports/git-transfer.ts';
import { type Reach, reachUrl, type UpstreamOptions } from './import-source.ts';

/**
 * Does something with an upstream. Credentials are in the environment of git, which only this user can read, or in a file that is gone
 * afterwards.
 *
 * @throws DomainError `invalid_request` for an address or credentials of another kind; what `resolveUpstream` throws
 */
export async function withUpstream<T>(
  { url, auth }: Upstream,
  options: UpstreamOptions,
  job: (way: Reach) => Promise<T>,
): Promise<T> {
  if (auth.kind === 'ssh_key') return withKey(url, auth.private_key, options, job);
  const way = await reachUrl(url, options);
  return job({ ...way, env: { ...way.env, ...headerEnvironment(auth) } });
}

/** git reads settings from GIT_CONFIG_COUNT and the variables it counts (git-config, ENVIRONMENT). */
function headerEnvironment(auth: Exclude<UpstreamAuth, { kind: 'ssh_key' }>): Record<string, string> {
  if (auth.kind === 'none') return {};
  // With a token any user name will do; some hosts want one.
  const pair = auth.kind === 'token' ? `x-access-token:${auth.token}` : `${auth.username}:${auth.password}`;
  return {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'http.extraHeader',
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${Buffer.from(pair).toString('base64')}`,
  };
}

async function withKey<T>(
  text: string,
  key: string,
  options: UpstreamOptions,
  job: (way: Reach) => Promise<T>,
): Promise<T> {
  const { url, address } = await checkAddress(text, options);
  if (options.sshKnownHosts === undefined)
    throw new DomainError('unavailable', 'This server knows no ssh hosts (PORTICO_SSH_KNOWN_HOSTS)');
  const directory = await mkdtemp(join(tmpdir(), 'portico-ssh-'));
  try {
    const file = join(directory, 'key');
    await writeFile(file, `${key.replaceAll('\r\n', '\n').trimEnd()}\n`, { mode: 0o600 });
    // Whatever the umask took away or left.
    await chmod(file, 0o600);
    const config = [['protocol.ssh.allow', 'always']] as const;
    const env = { GIT_SSH_COMMAND: sshCommand(url, address, file, options.sshKnownHosts), GIT_SSH_VARIANT: 'ssh' };
    return await job({ url: url.href, config, env });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function checkAddress(text: string, options: UpstreamOptions): Promise<{ url: URL; address: string }> {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.protocol !== 'ssh:' || url.hostname === '')
    throw new DomainError(
      'invalid_request',
      'url: must be an ssh address (ssh://account@host/path) when the key is one of ssh',
    );
  if (url.password !== '' || !/^[\w.][\w.-]*$/.test(url.username))
    throw new DomainError('invalid_request', 'url: must name an account and contain no password');
  if (options.resolveUpstream === undefined)
    throw new DomainError('unavailable', 'This server cannot fetch from other hosts');
  const { addresses } = await options.resolveUpstream(url);
  const [address] = addresses;
  if (address === undefined || isIP(address) === 0)
    throw new DomainError('upstream_unavailable', 'The host has no address');
  return { url, address };
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
