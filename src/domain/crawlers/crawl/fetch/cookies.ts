import type { Services } from '../../../../kernel/services.ts';
import type { CrawlerRun } from '../../runs/crawler-run.entity.ts';
import { publicSuffixes } from '../../urls/normalise.ts';

/** As many cookies are kept for one host; the one stored longest ago goes first. */
const perHost = 50;
/** Name, value and attributes of one cookie; bytes. */
const largest = 4096;

/** Characters of all cookies of a run: a site can have any number of hosts. Those of the host that set some longest ago go first. */
const inAll = 1024 * 1024;

/** Of hosts as the URL parser writes them: no name ends in digits alone. */
const isAddress = (host: string): boolean => /^\[|^[\d.]+$/.test(host);

interface Cookie {
  name: string;
  value: string;
  /** Only this host, not those below it. */
  isHostOnly: boolean;
  path: string;
  isSecure: boolean;
  /** Milliseconds since 1970; never when the session ends. */
  expires: number;
}

/** As it is written by `dump`, its attributes included. */
const lengthOf = ({ name, value, path }: Cookie): number => 150 + name.length + value.length + path.length;

/**
 * The cookies of one run (RFC 6265 section 5): they let pages behind a consent or session redirect be reached and are
 * part of no snapshot.
 */
export class CookieJar {
  /** By the domain a cookie belongs to in the order in which they last set one, each by name and path in the order of storing. */
  readonly #domains = new Map<string, Map<string, Cookie>>();
  #length = 0;
  #changes = 0;

  /** Counts what was stored. */
  get changes(): number {
    return this.#changes;
  }

  get isEmpty(): boolean {
    return this.#domains.size === 0;
  }

  /** All of them as text, for `restore`. */
  dump(): string {
    return JSON.stringify([...this.#domains].map(([domain, cookies]) => [domain, [...cookies]]));
  }

  /** Takes what another jar has dumped, beside what is here. */
  restore(text: string): void {
    const domains = JSON.parse(text) as [string, [string, Cookie & { expires: number | null }][]][];
    for (const [domain, cookies] of domains) {
      const kept = this.#domains.get(domain) ?? new Map<string, Cookie>();
      this.#domains.set(domain, kept);
      // JSON has no infinity.
      for (const [key, cookie] of cookies)
        this.#keep(kept, key, { ...cookie, expires: cookie.expires ?? Number.POSITIVE_INFINITY });
    }
  }

  /** Takes what an answer of `url` set. A cookie that is malformed, too large or for somebody else's domain is ignored. */
  store(url: URL, setCookie: readonly string[], now: Date): void {
    for (const line of setCookie) {
      const parsed = parseCookie(line, url, now.getTime());
      if (parsed === null) continue;
      const { domain, cookie } = parsed;
      this.#changes += 1;
      const kept = this.#domains.get(domain) ?? new Map<string, Cookie>();
      this.#domains.delete(domain);
      this.#domains.set(domain, kept);
      const key = `${cookie.name}\n${cookie.path}`;
      this.#drop(kept, key);
      if (cookie.expires > now.getTime()) this.#keep(kept, key, cookie);
      if (kept.size > perHost) this.#drop(kept, kept.keys().next().value ?? '');
      if (kept.size === 0) this.#domains.delete(domain);
    }
    this.#shrink();
  }

  #keep(kept: Map<string, Cookie>, key: string, cookie: Cookie): void {
    this.#drop(kept, key);
    kept.set(key, cookie);
    this.#length += lengthOf(cookie);
  }

  #drop(kept: Map<string, Cookie>, key: string): void {
    const cookie = kept.get(key);
    if (cookie === undefined) return;
    kept.delete(key);
    this.#length -= lengthOf(cookie);
  }

  #shrink(): void {
    for (const [domain, kept] of this.#domains) {
      if (this.#length <= inAll) return;
      for (const key of [...kept.keys()]) this.#drop(kept, key);
      this.#domains.delete(domain);
    }
  }

  /** The `Cookie` header for a request, longest paths first; null when no cookie matches. */
  header(url: URL, now: Date): string | null {
    const sent: Cookie[] = [];
    for (const domain of domainsAbove(url.hostname)) {
      for (const cookie of this.#domains.get(domain)?.values() ?? []) {
        const isFor = !cookie.isHostOnly || domain === url.hostname;
        const isSafe = !cookie.isSecure || url.protocol === 'https:';
        if (isFor && isSafe && cookie.expires > now.getTime() && covers(cookie.path, url.pathname)) sent.push(cookie);
      }
    }
    if (sent.length === 0) return null;
    return sent
      .sort((a, b) => b.path.length - a.path.length)
      .map(({ name, value }) => (name === '' ? value : `${name}=${value}`))
      .join('; ');
  }
}

function parseCookie(line: string, url: URL, now: number): { domain: string; cookie: Cookie } | null {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what may not be in a cookie
  if (Buffer.byteLength(line, 'latin1') > largest || /[\x00-\x08\x0a-\x1f\x7f]/.test(line)) return null;
  const [pair = '', ...rest] = line.split(';');
  const at = pair.indexOf('=');
  const name = at < 0 ? '' : pair.slice(0, at).trim();
  const value = pair.slice(at + 1).trim();
  if (name === '' && value === '') return null;
  const attributes = new Map<string, string>();
  for (const attribute of rest) {
    const [key = '', ...content] = attribute.split('=');
    attributes.set(key.trim().toLowerCase(), content.join('=').trim());
  }
  const domain = domainOf(attributes.get('domain'), url.hostname);
  if (domain === null) return null;
  const path = attributes.get('path') ?? '';
  return {
    domain: domain.name,
    cookie: {
      name,
      value,
      isHostOnly: domain.isHostOnly,
      path: path.startsWith('/') ? path : defaultPath(url.pathname),
      isSecure: attributes.has('secure'),
      expires: expiryOf(attributes, now),
    },
  };
}

/** Null for a domain that is not the host's own to set: another one, or one many sites share. */
function domainOf(attribute: string | undefined, host: string): { name: string; isHostOnly: boolean } | null {
  const name = (attribute ?? '').replace(/^\./, '').toLowerCase();
  if (name === '' || name === host) return { name: host, isHostOnly: name === '' };
  const isAbove = !isAddress(host) && host.endsWith(`.${name}`) && publicSuffixes().getPublicSuffix(name) !== name;
  return isAbove ? { name, isHostOnly: false } : null;
}

/** Max-Age wins over Expires; one that cannot be read leaves a cookie of the session. */
function expiryOf(attributes: ReadonlyMap<string, string>, now: number): number {
  const age = attributes.get('max-age');
  if (age !== undefined && /^-?\d+$/.test(age)) return now + Number(age) * 1000;
  const date = Date.parse(attributes.get('expires') ?? '');
  return Number.isNaN(date) ? Number.POSITIVE_INFINITY : date;
}

/** The directory of a path (RFC 6265 section 5.1.4). */
const defaultPath = (pathname: string): string => pathname.slice(0, Math.max(pathname.lastIndexOf('/'), 1)) || '/';

const covers = (path: string, pathname: string): boolean =>
  pathname === path || (pathname.startsWith(path) && (path.endsWith('/') || pathname[path.length] === '/'));

/** A host and the domains it is below of. */
function domainsAbove(host: string): string[] {
  if (isAddress(host)) return [host];
  const labels = host.split('.');
  return labels.map((_, index) => labels.slice(index).join('.'));
}

/** Milliseconds between two looks at what has changed. */
const saveEvery = 2_000;
/** Text that is still saved; characters. */
const longest = 4 * inAll;

type Needs = Pick<Services, 'orm' | 'secrets' | 'log'>;
type Owned = Pick<CrawlerRun, 'id' | 'epoch'>;

const readSql = 'select cookies from crawler_run where id = ?';
const saveSql = 'update crawler_run set cookies = ? where id = ? and epoch = ?';

/**
 * Gives a jar what a run's last worker had, and saves what changes in it, sealed, so that the next one has it too.
 * @param organization_id whose key seals them
 * @returns how to end it; saves what is not saved yet
 */
export async function keepCookies(
  { orm, secrets, log }: Needs,
  { id, epoch }: Owned,
  organization_id: number,
  jar: CookieJar,
): Promise<() => Promise<void>> {
  const [row] = await orm.em.fork().execute<{ cookies: string | null }[]>(readSql, [id]);
  if (row?.cookies != null && jar.changes === 0)
    jar.restore(await secrets.decrypt(organization_id, 'crawler.cookies', id, 1, row.cookies));
  let saved = jar.changes;
  let saving: Promise<void> = Promise.resolve();
  const save = async () => {
    const { changes } = jar;
    const text = changes === saved ? null : jar.dump();
    if (text === null || text.length > longest) return;
    const sealed = await secrets.encrypt(organization_id, 'crawler.cookies', id, 1, text);
    await orm.em.fork().execute(saveSql, [sealed, id, epoch]);
    saved = changes;
  };
  const look = () => {
    saving = saving
      .then(save)
      .catch((err: unknown) => log.debug({ err, run: id }, 'the cookies of a run were not saved'));
    return saving;
  };
  const timer = setInterval(look, saveEvery);
  return () => {
    clearInterval(timer);
    return look();
  };
}
