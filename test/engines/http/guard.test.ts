import { describe, expect, it } from 'vitest';
import { isInside, parseCidrs, rangeOf } from '../../../src/engines/http/guard.ts';
import fc from '../../support/properties.ts';
import { client, failure } from './support.ts';

/** Every IANA special-purpose block that is not reachable on the public internet (RFC 6890 and its registry). */
const special = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...[
    '192.0.2.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/4',
    '240.0.0.0/4',
  ],
  ...[
    '::/128',
    '::1/128',
    '::/96',
    '::ffff:0:0:0/96',
    '64:ff9b::/96',
    '64:ff9b:1::/48',
    '100::/64',
    '2001::/32',
    '2001:db8::/32',
  ],
  ...['2002::/16', '3fff::/20', '5f00::/16', 'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8', '4000::/2'],
];

/** A random address inside one of the special blocks. */
const specialAddress = fc
  .record({ block: fc.constantFrom(...special), bytes: fc.uint8Array({ minLength: 16, maxLength: 16 }) })
  .map(({ block, bytes }) => {
    const cidr = parseCidrs([block])[0];
    if (cidr === undefined) throw new Error(block);
    const [start, bits] = cidr;
    const fixed = start.toByteArray();
    const mixed = fixed.map((byte, index) => {
      const mask = 0xff >> Math.max(0, Math.min(8, bits - index * 8));
      return (byte & ~mask) | ((bytes[index] ?? 0) & mask);
    });
    return mixed.length === 4 ? mixed.join('.') : hextets(mixed);
  });

function hextets(bytes: number[]): string {
  return Array.from({ length: 8 }, (_, i) => (((bytes[i * 2] ?? 0) << 8) | (bytes[i * 2 + 1] ?? 0)).toString(16)).join(
    ':',
  );
}

const bare = (address: string) => (address.includes(':') ? `[${address}]` : address);

describe('ranges', () => {
  it('never calls an address of a special block public', () => {
    fc.assert(
      fc.property(specialAddress, (address) => rangeOf(address) !== 'unicast'),
      { numRuns: 3_000 },
    );
  });

  it('refuses every special address, as a literal and as the answer of a name', async () => {
    await fc.assert(
      fc.asyncProperty(specialAddress, async (address) => {
        const http = client({ allowedCidrs: [], resolve: async () => ['93.184.215.14', address] });
        for (const host of [bare(address), 'name.test']) {
          const error = await failure(http.check(new URL(`http://${host}/`), {}));
          expect(error.code).toBe('invalid_request');
          expect(error.details?.reason).toBe('blocked_address');
        }
      }),
      { numRuns: 300 },
    );
  });

  it('refuses the addresses at which clouds give machines their settings, however they are written', async () => {
    const ofClouds = [
      ...['169.254.169.254', '169.254.170.2', '100.100.100.200', '192.0.0.192', '168.63.129.16'],
      ...['fd00:ec2::254', 'fd20:ce::254', 'fd00:42::42', 'fe80::a9fe:a9fe'],
      ...['::ffff:168.63.129.16', '::168.63.129.16', '::ffff:0:168.63.129.16'],
      ...['64:ff9b::a83f:8110', '64:ff9b:1::a83f:8110', '2002:a83f:8110::1'],
    ];
    for (const address of ofClouds) {
      expect(rangeOf(address), address).not.toBe('unicast');
      const http = client({ allowedCidrs: [], resolve: async () => [address] });
      expect((await failure(http.check(new URL('http://name.test/'), {}))).details?.reason, address).toBe(
        'blocked_address',
      );
    }
    for (const host of ['2822734096', '0xa83f8110', '[::ffff:a83f:8110]'])
      expect((await failure(client({ allowedCidrs: [] }).check(new URL(`http://${host}/`), {}))).message).toMatch(
        /is a metadata address, which may not be reached$/,
      );
    const allowed = client({ allowedCidrs: ['168.63.129.16/32'] });
    expect((await allowed.check(new URL('http://168.63.129.16/'), {})).addresses).toEqual(['168.63.129.16']);
    expect(rangeOf('168.63.129.17')).toBe('unicast');
  });

  it('lets the public internet through', () => {
    for (const address of ['1.1.1.1', '93.184.215.14', '2606:4700::1111', '2a00:1450::1', '::ffff:8.8.8.8']) {
      expect(rangeOf(address)).toBe('unicast');
    }
  });

  it('treats a mapped address as the IPv4 address in it and keeps the families apart', () => {
    expect(rangeOf('::ffff:192.168.1.1')).toBe('private');
    expect(isInside('::ffff:10.1.2.3', parseCidrs(['10.0.0.0/8']))).toBe(true);
    expect(isInside('::a01:203', parseCidrs(['10.0.0.0/8']))).toBe(false);
    expect(isInside('10.1.2.3', parseCidrs(['10.1.2.3']))).toBe(true);
  });

  it('names the range that cannot be parsed', () => {
    expect(() => client({ allowedCidrs: ['10.0.0.0/33'] })).toThrow('"10.0.0.0/33" is not an address range');
    expect(() => client({ allowedCidrs: ['example.test'] })).toThrow('example.test');
  });
});

describe('odd spellings of loopback', () => {
  const spellings = [
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '017700000001',
    '127.1',
    '127.0.0.1.',
    '0',
    '%31%32%37.1',
  ];
  const others = [
    '[::1]',
    '[::ffff:7f00:1]',
    '[::ffff:127.0.0.1]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
  ];

  it.each([...spellings, ...others, '１２７.1'])('%s', async (host) => {
    const resolve = async () => expect.fail('a literal must not be resolved');
    for (const scheme of ['http', 'https', 'ssh']) {
      const url = URL.parse(`${scheme}://${host}/`);
      if (url === null) continue;
      const error = await failure(client({ allowedCidrs: [], resolve }).check(url, {}));
      expect(error.message).toMatch(/loopback|reserved|rfc6052|6to4|unspecified/);
    }
  });

  it('localhost with and without the dot', async () => {
    for (const host of ['localhost', 'localhost.', 'LOCALHOST', 'a.localhost']) {
      const http = client({ allowedCidrs: [], resolve: async () => ['::1', '127.0.0.1'] });
      const error = await failure(http.check(new URL(`http://${host}/`), {}));
      expect(error.message).toBe(`${host.toLowerCase()} is a loopback address, which may not be reached`);
    }
  });

  it.each([
    ['169.254.169.254', 'link-local'],
    ['100.64.0.1', 'carrier-grade-nat'],
    ['10.0.0.1', 'private'],
  ])('%s, as %s in words', async (host, range) => {
    const error = await failure(client({ allowedCidrs: [] }).check(new URL(`http://${host}/`), {}));
    expect(error.message).toBe(`${host} is a ${range} address, which may not be reached`);
  });

  it('addresses with a zone', async () => {
    const http = client({ allowedCidrs: ['fe80::/10'], resolve: async () => ['fe80::1%lo'] });
    expect((await failure(http.check(new URL('http://zone.test/'), {}))).message).toContain('scoped');
    const trusted = { trustedNames: ['zone.test'] };
    expect((await failure(http.check(new URL('http://zone.test/'), trusted))).message).toContain('scoped');
    expect(URL.parse('http://[fe80::1%25lo]/')).toBeNull();
  });
});

describe('policy', () => {
  const site = (path: string) => new URL(`http://${path}`);
  const at = (...addresses: string[]) => client({ allowedCidrs: [], resolve: async () => addresses });

  it('answers all addresses of the name', async () => {
    const { addresses } = await at('1.1.1.1', '2606:4700::1111').check(site('a.test/'), {});
    expect(addresses).toEqual(['1.1.1.1', '2606:4700::1111']);
  });

  it('limits the ports of public addresses only', async () => {
    const ports = [80, 443];
    await at('1.1.1.1').check(site('a.test/'), { ports });
    const error = await failure(at('1.1.1.1').check(site('a.test:22/'), { ports }));
    expect(error.message).toBe('a.test: port 22 may not be reached');
    await at('10.0.0.1').check(site('a.test:9000/'), { ports, allowedCidrs: ['10.0.0.0/8'] });
  });

  it('needs every address inside the allowed ranges', async () => {
    const allowedCidrs = ['10.0.0.0/24'];
    await at('10.0.0.1', '1.1.1.1').check(site('a.test/'), { allowedCidrs });
    await failure(at('10.0.0.1', '10.0.1.1').check(site('a.test/'), { allowedCidrs }));
  });

  it('trusts exact names, on their port when one is given', async () => {
    const here = at('127.0.0.1');
    await here.check(site('localhost:8080/'), { ports: [80], trustedNames: ['localhost:8080'] });
    await here.check(site('localhost:9/'), { ports: [80], trustedNames: ['localhost'] });
    await here.check(site('127.0.0.1:9/'), { trustedNames: ['127.0.0.1'] });
    await here.check(site('[::1]:9/'), { trustedNames: ['[::1]:9'] });
    const refused: [string, string][] = [
      ['localhost:8081/', 'localhost:8080'],
      ['a.localhost/', '*.localhost'],
      ['a.localhost/', 'localhost'],
      ['localhost.evil.test/', 'localhost'],
    ];
    for (const [path, name] of refused) await failure(here.check(site(path), { trustedNames: [name] }));
  });

  it('refuses other schemes and credentials', async () => {
    const http = at('1.1.1.1');
    for (const url of [
      'file:///etc/passwd',
      'ftp://a.test/',
      'gopher://a.test/',
      'http://u:p@a.test/',
      'http://u@a.test/',
      'ssh://u:p@a.test/',
    ]) {
      expect((await failure(http.check(new URL(url), {}))).details?.reason).toBe('invalid_url');
    }
    expect((await failure(http.request('ssh://a.test/', { policy: {} }))).details?.reason).toBe('invalid_url');
    await http.check(new URL('ssh://git@a.test/x.git'), {});
  });

  it('says when a name does not exist, and does not reveal a private address to the caller', async () => {
    const resolve = async () =>
      Promise.reject(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }));
    const missing = await failure(client({ resolve }).check(site('a.test/'), {}));
    expect(missing.details).toEqual({ reason: 'dns', system: 'ENOTFOUND' });
    const inner = await failure(at('10.9.8.7').check(site('a.test/'), {}));
    expect(inner.message).not.toContain('10.9.8.7');
    expect(JSON.stringify(inner.details)).not.toContain('10.9.8.7');
  });
});
