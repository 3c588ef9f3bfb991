import { isIP } from 'node:net';
import { DomainError } from '../../../../domain/errors.ts';
import type { UpstreamAuth } from '../../../../domain/ports/git-transfer.ts';
import type { Reach, UpstreamOptions } from './reach.ts';
import { resolved } from './resolved.ts';

/** @throws DomainError `invalid_request` for an address that is not https, or a key; what `resolveUpstream` throws */
export async function reachHttps(text: string, auth: UpstreamAuth, options: UpstreamOptions): Promise<Reach> {
  const url = URL.canParse(text) ? new URL(text) : null;
  const protocols = options.allowHttp === true ? ['https:', 'http:'] : ['https:'];
  if (url === null || !protocols.includes(url.protocol))
    throw new DomainError('invalid_request', 'url: must be an https address');
  if (url.username !== '' || url.password !== '')
    throw new DomainError('invalid_request', 'url: must not contain credentials');
  if (auth.kind === 'ssh_key') throw new DomainError('invalid_request', 'auth: a key is for ssh addresses');
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

/** CURLOPT_RESOLVE: `HOST:PORT:ADDRESS[,ADDRESS]…`, so that git connects to the addresses that were checked and asks no other. */
function pin(host: string, url: URL, addresses: readonly string[]): string {
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return `${host}:${port}:${addresses.map((address) => (isIP(address) === 6 ? `[${address}]` : address)).join(',')}`;
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
