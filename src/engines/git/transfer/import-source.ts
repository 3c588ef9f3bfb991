import { stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import { isAbsolute } from 'node:path';
import { DomainError } from '../../../domain/errors.ts';
import type { ImportSource } from '../../../domain/ports/git-transfer.ts';
import { replaceFile } from '../durable-files.ts';
import type { Config } from '../git-child.ts';

export interface UpstreamOptions {
  /** Plain http as well: for tests and a loopback of one's own. */
  allowHttp?: boolean;
  /** PEM file of further roots to trust. */
  caFile?: string;
  /** Resolves the host of an upstream, once, and refuses addresses that must not be reached. Without it nothing is fetched by URL. */
  resolveUpstream?: (url: URL) => Promise<{ addresses: string[] }>;
  /** Keys of the ssh hosts that may be connected to, as OpenSSH keeps them (sshd(8), SSH_KNOWN_HOSTS). Without it ssh is refused. */
  sshKnownHosts?: string;
}

/** What git needs to reach a source, and nothing beyond it. */
export interface Reach {
  url: string;
  config: Config;
  env: Record<string, string>;
}

/**
 * @param settings file to write git settings to that must hold in the source's repository too
 * @throws DomainError `invalid_request` for a source of another kind; what `resolveUpstream` throws
 */
export function reach(source: ImportSource, options: UpstreamOptions, settings: string): Promise<Reach> {
  return source.kind === 'path' ? reachPath(source.url, settings) : reachUrl(source.url, options);
}

/**
 * git refuses repositories of other users unless their path is named as safe in the global configuration: `-c` does not reach the
 * process that reads the source. git 2.39 compares there with `.`, later ones with the path.
 */
async function reachPath(path: string, settings: string): Promise<Reach> {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these would end the line of the settings file
  if (!isAbsolute(path) || /[\u0000-\u001f]/.test(path))
    throw new DomainError('invalid_request', 'url: must be an absolute path');
  const seen = await stat(path).catch(() => null);
  if (!seen?.isDirectory()) throw new DomainError('invalid_request', 'url: there is no directory at this path');
  const safe = ['.', path, `${path}/.git`].map((value) => `\tdirectory = "${value.replace(/["\\]/g, '\\$&')}"\n`);
  await replaceFile(settings, `[safe]\n${safe.join('')}`);
  return { url: path, config: [['protocol.file.allow', 'always']], env: { GIT_CONFIG_GLOBAL: settings } };
}

/** @throws DomainError `invalid_request` for an address that is not https; what `resolveUpstream` throws */
export async function reachUrl(text: string, options: UpstreamOptions): Promise<Reach> {
  const url = URL.canParse(text) ? new URL(text) : null;
  const protocols = options.allowHttp === true ? ['https:', 'http:'] : ['https:'];
  if (url === null || !protocols.includes(url.protocol))
    throw new DomainError('invalid_request', 'url: must be an https address');
  if (url.username !== '' || url.password !== '')
    throw new DomainError('invalid_request', 'url: must not contain credentials');
  if (options.resolveUpstream === undefined)
    throw new DomainError('unavailable', 'This server cannot fetch from other hosts');
  const { addresses } = await options.resolveUpstream(url);
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
  return { url: url.href, config, env: {} };
}

/** CURLOPT_RESOLVE: `HOST:PORT:ADDRESS[,ADDRESS]…`, so that git connects to the addresses that were checked and asks no other. */
function pin(host: string, url: URL, addresses: readonly string[]): string {
  if (addresses.length === 0) throw new DomainError('upstream_unavailable', 'The host of the source has no address');
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return `${host}:${port}:${addresses.map((address) => (isIP(address) === 6 ? `[${address}]` : address)).join(',')}`;
}
