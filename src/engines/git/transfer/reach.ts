import { chmod, stat, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { isAbsolute, join } from 'node:path';
import { DomainError } from '../../../kernel/errors.ts';
import { clearOwnedDirectories, openOwnedDirectory } from '../../../lib/owned-directory.ts';
import type { ImportSource, UpstreamAuth } from '../../../ports/git-transfer.ts';
import type { Config } from '../git-child.ts';

/** Addresses of a host that are tried; all are one argument of git, and a name may have thousands. */
const mostAddresses = 32;

/**
 * The addresses a host may be reached at, the first of them; never none.
 *
 * @throws DomainError `unavailable` on a server that reaches no other hosts, `upstream_unavailable`; what `resolveUpstream` throws
 */
async function resolved(url: URL, { resolveUpstream }: UpstreamOptions): Promise<[string, ...string[]]> {
  if (resolveUpstream === undefined) throw new DomainError('unavailable', 'This server cannot fetch from other hosts');
  const { addresses } = await resolveUpstream(url);
  const [first, ...others] = addresses.filter((address) => isIP(address) !== 0);
  if (first === undefined) throw new DomainError('upstream_unavailable', 'The host has no address');
  return [first, ...others.slice(0, mostAddresses - 1)];
}

const scratchPrefix = 'portico-reach-';

/** Removes what processes that were killed had made to reach other hosts: keys. */
export const clearScratch = () => clearOwnedDirectories(scratchPrefix);

/** Gives a job a directory that only this user can read and that is gone afterwards. */
async function withScratch<T>(job: (directory: string) => Promise<T>): Promise<T> {
  const directory = await openOwnedDirectory(scratchPrefix);
  try {
    return await job(directory.path);
  } finally {
    await directory.remove();
  }
}

/** @throws DomainError `invalid_request` for an address that is not https, or a key; what `resolveUpstream` throws */
async function reachHttps(text: string, auth: UpstreamAuth, options: UpstreamOptions): Promise<Reach> {
  const url = URL.canParse(text) ? new URL(text) : null;
  const protocols = options.allowHttp === true ? ['https:', 'http:'] : ['https:'];
  if (url === null || !protocols.includes(url.protocol))
    throw new DomainError('invalid_request', 'url: must be an https address');
  if (url.username !== '' || url.password !== '')
    throw new DomainError('invalid_request', 'url: must not contain credentials');
  if (auth.kind === 'ssh_key') throw new DomainError('invalid_request', 'auth: a key is for ssh addresses');
  // Before the first name such a sign would be read as part of the setting below, and git would look the host up by itself.
  if (/^[-+*]/.test(url.hostname))
    throw new DomainError('invalid_request', 'url: the name of a host starts with a letter or digit');
  const addresses = await resolved(url, options);
  const config: (readonly [string, string])[] = [
    [`protocol.${url.protocol.slice(0, -1)}.allow`, 'always'],
    ['http.followRedirects', 'false'],
    ['http.proxy', ''],
    ['http.lowSpeedLimit', '1'],
    ['http.lowSpeedTime', '60'],
  ];
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) === 0) config.push(['http.curloptResolve', pin(host, url, addresses)]);
  if (options.caFile !== undefined) config.push(['http.sslCAInfo', options.caFile]);
  return { url: url.href, config, env: headerEnvironment(auth) };
}

/** CURLOPT_RESOLVE: `HOST:PORT:ADDRESS[,ADDRESS]…`, so that git connects to the checked addresses without a lookup of its own. */
function pin(host: string, url: URL, addresses: readonly string[]): string {
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return `${host}:${port}:${addresses.map((address) => (isIP(address) === 6 ? `[${address}]` : address)).join(',')}`;
}

/** git reads settings from GIT_CONFIG_COUNT and the variables it counts (git-config, ENVIRONMENT). */
function headerEnvironment(auth: Exclude<UpstreamAuth, { kind: 'ssh_key' }>): Record<string, string> {
  if (auth.kind === 'none') return {};
  // With a token any user name is accepted; some hosts require one.
  const pair = auth.kind === 'token' ? `x-access-token:${auth.token}` : `${auth.username}:${auth.password}`;
  return {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'http.extraHeader',
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${Buffer.from(pair).toString('base64')}`,
  };
}

/**
 * Reaches a repository of this machine. git refuses those of other users unless their path is named as safe in the global configuration:
 * `-c` does not reach the process that reads the source. git 2.39 compares there with `.`, later ones with the path.
 *
 * @throws DomainError `invalid_request` when there is no directory at the path
 */
async function withPath<T>(path: string, job: (way: Reach) => Promise<T>): Promise<T> {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these would end the line of the settings file
  if (!isAbsolute(path) || /[\u0000-\u001f]/.test(path))
    throw new DomainError('invalid_request', 'url: must be an absolute path');
  const seen = await stat(path).catch(() => null);
  if (!seen?.isDirectory()) throw new DomainError('invalid_request', 'url: there is no directory at this path');
  return withScratch(async (scratch) => {
    const settings = join(scratch, 'config');
    const safe = ['.', path, `${path}/.git`].map((value) => `\tdirectory = "${value.replace(/["\\]/g, '\\$&')}"\n`);
    await writeFile(settings, `[safe]\n${safe.join('')}`);
    return job({ url: path, config: [['protocol.file.allow', 'always']], env: { GIT_CONFIG_GLOBAL: settings } });
  });
}

/** @throws DomainError `invalid_request` for an address that is not one of ssh, or without a key; what `resolveUpstream` throws */
async function withSsh<T>(
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
    // Whatever the umask removed or left.
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
 * ssh that uses this key and no other, never prompts, reads no configuration, and connects to the checked address; the host's key is
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

export interface UpstreamOptions {
  /** Plain http as well: for tests and a loopback of one's own. */
  allowHttp?: boolean;
  /** PEM file of further CA certificates to trust. */
  caFile?: string;
  /** Resolves the host of an upstream, once, and refuses addresses that must not be reached. Without it nothing is fetched by URL. */
  resolveUpstream?: (url: URL) => Promise<{ addresses: string[] }>;
  /** Keys of the ssh hosts that may be connected to, as OpenSSH keeps them (sshd(8), SSH_KNOWN_HOSTS). Without it ssh is refused. */
  sshKnownHosts?: string;
  /** Processor time of one import, fetch or push to an upstream, seconds, for git and for each process it starts; default its wall time. */
  fetchCpu?: number;
  /** Bytes of one import from another host, or of one fetch; default 4 GiB. */
  fetchBytes?: number;
  /** Branches and tags of one import from another host, and branches of an upstream; default 10,000. */
  fetchRefs?: number;
}

/** What another host may send at once: without a bound it would fill the disk that all repositories share. */
export const mostFetched = ({ fetchBytes = 4 * 1024 ** 3 }: UpstreamOptions): number => fetchBytes;

/** How many refs another host may have: each is a file until it is packed, and each list of branches goes through all of them. */
export const mostFetchedRefs = ({ fetchRefs = 10_000 }: UpstreamOptions): number => fetchRefs;

/** What git needs to reach a repository elsewhere, and nothing beyond it. */
export interface Reach {
  url: string;
  config: Config;
  env: Record<string, string>;
}

/** An address, how it is spoken to, and the sign-in. */
type Elsewhere = Pick<ImportSource, 'url' | 'kind' | 'auth'>;

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
