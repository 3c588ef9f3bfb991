import { describe, expect, it, vi } from 'vitest';
import { siteAddresses } from '../../../../src/domain/crawlers/snapshots/site-addresses.ts';
import { SiteEntries } from '../../../../src/domain/crawlers/snapshots/snapshot-site.ts';

const origin = 'https://www.example.com';
const cdn = 'https://cdn.example.net:8443';
const docs = 'https://docs.example.com';

describe('the URLs that a path may stand for', () => {
  const all = (target: string, tree = [origin, 'http://www.example.com', docs]) =>
    siteAddresses(origin, { tree, others: [cdn] }).urlsOf(target, ['utm_*']);

  it('are those of each host of the tree, normalised', () => {
    expect(all('/%61?b&utm_a=1')).toEqual([`${origin}/a?b`, `${origin}/a?b`, `${docs}/a?b`]);
    expect(all('/.//a')).toEqual([`${origin}//a`, `${origin}//a`, `${docs}//a`]);
    expect(all('/_hosts/cdn.example.net:8443/a?utm_b')).toContain(`${cdn}/a`);
  });

  it('are none for a path and query that no crawl takes', () => {
    const target = (length: number) => `/?${'a'.repeat(length - 2)}`;
    expect(all(target(8_192))).toHaveLength(3);
    expect(all(target(8_193))).toEqual([]);
  });

  it('are normalised once for thousands of hosts', () => {
    const tree = Array.from({ length: 2_000 }, (_, at) => `https://u${at}.example.com`);
    const site = siteAddresses(origin, { tree, others: [] });
    site.urlsOf('/', []);
    const parsed = vi.spyOn(URL, 'parse');
    expect(site.urlsOf('/a%41', [])).toHaveLength(2_001);
    expect(parsed).toHaveBeenCalledOnce();
    parsed.mockRestore();
  });
});

describe('entries of a snapshot', () => {
  const site = { snapshot_id: 1, addresses: siteAddresses(origin, { tree: [origin], others: [] }) };
  /** Entries of a database that answers each statement with these rows. */
  const entriesOf = (rows: object[]) => {
    const execute = vi.fn(async () => rows);
    const entries = new SiteEntries({ em: { fork: () => ({ execute }) } } as never);
    return { execute, find: (target: string) => entries.find(site, target, []) };
  };

  it('have those headers alone that mean the same in a copy', async () => {
    const headers = { link: 'x'.repeat(60_000), 'content-language': 'fr', 'content-disposition': 'inline' };
    const { find } = entriesOf([{ url: `${origin}/a`, headers, bytes: '1', redirect_to: null, sha256: null }]);
    expect(await find('/a')).toMatchObject({
      headers: { 'content-language': 'fr', 'content-disposition': 'inline' },
      bytes: 1,
    });
    expect(Object.keys((await find('/a'))?.headers ?? {})).toHaveLength(2);
  });

  it('are kept by their length', async () => {
    const { execute, find } = entriesOf([]);
    const looked = async (count: number, length: number) => {
      execute.mockClear();
      for (let at = 0; at < count; at += 1) await find(`/${at}${'a'.repeat(length)}`);
      await find(`/0${'a'.repeat(length)}`);
      return execute.mock.calls.length;
    };
    expect(await looked(15_000, 10)).toBe(15_000);
    expect(await looked(15_000, 980)).toBe(15_001);
  });
});
