/**
 * Addresses of hosts that outgoing requests go to: from the file of hosts, as other programs read it, and from the system's name servers. The
 * system's own function (getaddrinfo(3)) holds one of two threads until a name server answers, ten seconds and more, and cannot be interrupted:
 * two names whose servers are silent would keep all other requests waiting. So names are looked up by queries of our own, each with a time limit.
 */
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { madeOfFile } from '../../lib/version-cache.ts';

/** Milliseconds for the first try of a name server. */
const firstTry = 2_500;
const tries = 2;

interface HostResolverOptions {
  /** Name servers, `address[:port]`; default: those of the system. */
  servers?: readonly string[];
  hostsFile?: string;
  /** Where the system names the domains that short names are searched in (resolv.conf(5)). */
  settingsFile?: string;
  /** Milliseconds for a name, with all its tries. */
  time?: number;
}

/** What is made of a file, which counts as empty while it cannot be read. */
function madeOf<T>(path: string, make: (text: string) => T): () => Promise<T> {
  const made = madeOfFile(path, make);
  return () => made().catch(() => make(''));
}

const wordsOf = (line: string) => (line.split(/[#;]/, 1)[0] ?? '').split(/[ \t\r]+/).filter((word) => word !== '');

/** Addresses by name, in lower case (hosts(5)). */
function readHosts(text: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = wordsOf(line);
    // An address with a zone (RFC 4007) is valid on one interface only.
    if (isIP(address) === 0 || address.includes('%')) continue;
    for (const name of names.map((one) => one.toLowerCase())) found.set(name, [...(found.get(name) ?? []), address]);
  }
  return found;
}

interface SearchList {
  domains: string[];
  /** A name with fewer dots is first looked up in the domains, one with as many as it is. */
  dots: number;
}

/** Domains that a name is searched in, as many as Kubernetes writes; the C library has had no limit since glibc 2.26. */
const mostDomains = 32;

/** Of `search` and `domain` the last one counts (resolv.conf(5)). */
function readSearchList(text: string): SearchList {
  const list: SearchList = { domains: [], dots: 1 };
  for (const line of text.split('\n')) {
    const [word, ...rest] = wordsOf(line);
    if (word === 'search' || word === 'domain')
      list.domains = rest.filter((domain) => domain !== '.').slice(0, mostDomains);
    const dots = word === 'options' ? rest.map((one) => /^ndots:(\d{1,2})$/.exec(one)?.[1]).find(Boolean) : undefined;
    if (dots !== undefined) list.dots = Math.min(Number(dots), 15);
  }
  return list;
}

/** Names that a name may stand for, in the order in which they are looked up. */
function candidatesOf(name: string, { domains, dots }: SearchList): string[] {
  if (name.endsWith('.')) return [name];
  const searched = domains.map((domain) => `${name}.${domain}`);
  return name.split('.').length - 1 >= dots ? [name, ...searched] : [...searched, name];
}

/** Such names mean this machine wherever they are looked up (RFC 6761, 6.3). */
const isLocalhost = (name: string) => /(?:^|\.)localhost$/.test(name);
const loopback = ['127.0.0.1', '::1'];

/** Answers of name servers that a name has no address (RFC 2308). */
const absences: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA']);
const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;

/** Addresses of exactly this name; none when it does not exist. @throws the error of a name server when none answers */
async function query(resolver: Resolver, name: string): Promise<string[]> {
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  const failed = answers.find((answer) => answer.status === 'rejected' && !absences.has(codeOf(answer.reason)));
  if (addresses.length === 0 && failed?.status === 'rejected') throw failed.reason;
  return addresses;
}

/** @returns all addresses of a name, looked up anew at each call; rejects with a name server's error, or one of the code ENOTFOUND */
export function createHostResolver({
  servers,
  hostsFile = '/etc/hosts',
  settingsFile = '/etc/resolv.conf',
  time = 10_000,
}: HostResolverOptions = {}): (name: string) => Promise<string[]> {
  const hosts = madeOf(hostsFile, readHosts);
  const searchList = madeOf(settingsFile, readSearchList);
  return async (name) => {
    const plain = name.replace(/\.$/, '').toLowerCase();
    const listed = (await hosts()).get(plain) ?? (isLocalhost(plain) ? loopback : undefined);
    if (listed !== undefined) return listed;
    const resolver = new Resolver({ timeout: firstTry, tries });
    if (servers !== undefined) resolver.setServers(servers);
    const late = setTimeout(() => resolver.cancel(), time);
    let failure: unknown;
    try {
      for (const candidate of candidatesOf(name, await searchList())) {
        const addresses = await query(resolver, candidate).catch((error: unknown) => {
          // One domain of the search list that fails does not hide the name in another, as with the system's function.
          if (codeOf(error) !== 'ESERVFAIL') throw error;
          failure ??= error;
          return [];
        });
        if (addresses.length > 0) return addresses;
      }
    } finally {
      clearTimeout(late);
    }
    if (failure !== undefined) throw failure;
    throw Object.assign(new Error(`${name} has no address`), { code: 'ENOTFOUND' });
  };
}
