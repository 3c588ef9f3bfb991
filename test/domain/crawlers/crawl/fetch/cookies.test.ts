import { describe, expect, it } from 'vitest';
import { CookieJar } from '../../../../../src/domain/crawlers/crawl/fetch/cookies.ts';

const now = new Date('2026-03-01T00:00:00Z');
const later = new Date(now.getTime() + 3600_000);

/** What is sent to `to` after `from` set these. */
function sent(from: string, lines: string[], to: string, at = now): string | null {
  const jar = new CookieJar();
  jar.store(new URL(from), lines, now);
  return jar.header(new URL(to), at);
}

describe('a cookie jar', () => {
  const site = 'https://www.example.com/a/b';

  it('sends a cookie back to its host and to no other', () => {
    expect(sent(site, ['a=1; Path=/'], 'https://www.example.com/')).toBe('a=1');
    for (const other of ['https://example.com/', 'https://x.www.example.com/', 'https://other.com/'])
      expect(sent(site, ['a=1; Path=/'], other)).toBeNull();
  });

  it('sends a cookie of a domain to everything below it', () => {
    for (const host of ['example.com', 'www.example.com', 'x.y.example.com'])
      expect(sent(site, ['a=1; Domain=.Example.com; Path=/'], `https://${host}/`)).toBe('a=1');
  });

  it('takes no cookie for a domain that is not the host’s', () => {
    for (const domain of ['com', 'other.com', 'x.www.example.com', 'ample.com'])
      expect(sent(site, [`a=1; Domain=${domain}; Path=/`], site)).toBeNull();
    expect(sent('http://a.co.uk/', ['a=1; Domain=co.uk'], 'http://a.co.uk/')).toBeNull();
    expect(sent('http://10.0.0.1/', ['a=1; Domain=0.0.1'], 'http://10.0.0.1/')).toBeNull();
    expect(sent('http://[::1]:8080/', ['a=1'], 'http://[::1]:8080/x')).toBe('a=1');
  });

  it('keeps to the path, by default the directory', () => {
    const lines = ['a=1', 'b=2; Path=/a/b', 'c=3; Path=/', 'd=4; Path=/other', 'e=5; Path=relative'];
    expect(sent(site, lines, 'https://www.example.com/a/b/c')).toBe('b=2; a=1; e=5; c=3');
    expect(sent(site, lines, 'https://www.example.com/ab')).toBe('c=3');
  });

  it('keeps secure ones from plain HTTP', () => {
    expect(sent(site, ['a=1; Secure; Path=/'], 'http://www.example.com/')).toBeNull();
    expect(sent(site, ['a=1; Secure; Path=/'], site)).toBe('a=1');
  });

  it('expires on time, and at once when the server says so', () => {
    expect(sent(site, ['a=1; Max-Age=60'], site, now)).toBe('a=1');
    expect(sent(site, ['a=1; Max-Age=60'], site, later)).toBeNull();
    expect(sent(site, ['a=1; Expires=Sun, 01 Mar 2026 00:30:00 GMT'], site, later)).toBeNull();
    expect(sent(site, ['a=1; Expires=never; Max-Age=x'], site, later)).toBe('a=1');
    expect(sent(site, ['a=1', 'a=2; Max-Age=0'], site)).toBeNull();
    expect(sent(site, ['a=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT'], site)).toBe('a=1');
  });

  it('keeps the latest of a name', () => {
    expect(sent(site, ['a=1', 'b=2', 'a=3'], site)).toBe('b=2; a=3');
  });

  it('keeps fifty of a host, each up to 4 KiB', () => {
    const many = Array.from({ length: 51 }, (_, index) => `n${index}=1`);
    expect(sent(site, many, site)?.split('; ')).toEqual(many.slice(1));
    const long = (size: number) => `a=${'x'.repeat(size - 2)}`;
    expect(sent(site, [long(4096)], site)).toBe(long(4096));
    expect(sent(site, [long(4097)], site)).toBeNull();
  });

  it('keeps a mebibyte of all hosts, those that set some latest', () => {
    const jar = new CookieJar();
    const value = 'x'.repeat(4_000);
    const of = (host: number) => new URL(`https://h${host}.example.com/`);
    for (let host = 0; host < 1_000; host += 1) {
      jar.store(of(0), ['first=1'], now);
      jar.store(of(host), [`a=${value}`], now);
    }
    const kept = Array.from({ length: 1_000 }, (_, host) => host).filter((host) => jar.header(of(host), now) !== null);
    expect(kept).toEqual([0, ...Array.from({ length: kept.length - 1 }, (_, at) => 1_001 - kept.length + at)]);
    expect(jar.dump().length).toBeGreaterThan(900_000);
    expect(jar.dump().length).toBeLessThan(2 ** 20);
    const restored = new CookieJar();
    restored.restore(jar.dump());
    restored.store(
      new URL('https://other.example.com/'),
      Array(20)
        .fill(`a=${value}`)
        .map((line, at) => `${at}${line}`),
      now,
    );
    expect(restored.dump().length).toBeLessThan(2 ** 20);
  });

  it('keeps nothing of hosts that only end cookies', () => {
    const jar = new CookieJar();
    jar.store(new URL(site), ['a=1; Max-Age=0'], now);
    expect(jar.isEmpty).toBe(true);
  });

  it('takes values as they are, and nothing that could break a header', () => {
    expect(sent(site, ['a="q=1, x"', '=v', 'w'], site)).toBe('a="q=1, x"; w');
    expect(sent(site, ['a=1\r\nevil: 2', 'b=\0', ''], site)).toBeNull();
  });
});
