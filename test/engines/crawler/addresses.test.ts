import { describe, expect, it } from 'vitest';
import { serve } from '../http/support.ts';
import { fetching } from './support.ts';

/** Ways to write an address inside, as links could. */
const odd = [
  ...['127.1', '0177.0.0.1', '0x7f.1', '2130706433', '127.0.0.1.', '0', '10.0.0.1', '169.254.169.254', '100.64.0.1'],
  ...[
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[fe80::1]',
    '[fd00::1]',
  ],
  ...['[::127.0.0.1]', '[2001::1]', '[fec0::1]', '１２７.０.０.１', '%31%32%37.0.0.1', '[::]', '[ff02::1]'],
];

/** Answers a name may give. */
const answers: [string, string[]][] = [
  ['a private address', ['10.1.2.3']],
  ['metadata', ['169.254.169.254']],
  ['a public and a private one', ['93.184.215.14', '192.168.0.1']],
  ['a public A and a loopback AAAA', ['93.184.215.14', '::1']],
  ['a mapped one', ['::ffff:10.0.0.1']],
  ['NAT64', ['64:ff9b::a00:1']],
  ['6to4', ['2002:a00:1::1']],
  ['a scoped one', ['fe80::1%eth0']],
  ['something that is no address', ['localhost']],
];

describe('addresses that may not be reached', () => {
  it.each(odd)('refuses http://%s', async (host) => {
    let requested = 0;
    const port = await serve((_, response) => response.end(String(++requested)));
    const { fault } = await fetching({ allowedCidrs: [] });
    const refused = await fault(port, { url: `http://${host}:${port}/` });
    expect(refused).toMatchObject({ error: 'blocked_address', isRetryable: false, retries: 0 });
    expect(requested).toBe(0);
  });

  it.each(answers)('refuses a name with %s', async (_, addresses) => {
    const { fault } = await fetching({ allowedCidrs: [], resolve: async () => addresses });
    const refused = await fault(80, { url: 'http://name.test/' });
    expect(refused).toMatchObject({ error: 'blocked_address', isRetryable: false });
    for (const address of addresses) expect(refused.message).not.toContain(address);
  });

  it('asks the resolver once per connection, so that a second answer is never dialled', async () => {
    const resolved = [['127.0.0.1'], ['10.0.0.1']];
    const port = await serve((_, response) => response.setHeader('Connection', 'close').end('x'));
    const { answer, fault } = await fetching({ resolve: async () => resolved.shift() ?? [] });
    const url = `http://name.test:${port}/`;
    expect((await answer(port, { url })).status).toBe(200);
    expect(await fault(port, { url })).toMatchObject({ error: 'blocked_address' });
    expect(resolved).toEqual([]);
  });

  it('hands a redirect inwards out without following it', async () => {
    const metadata = 'http://169.254.169.254/latest/meta-data/';
    const port = await serve((_, response) => response.writeHead(302, { location: metadata }).end());
    const { answer, fault } = await fetching();
    const { location } = await answer(port);
    expect(location).toBe(metadata);
    expect(await fault(port, { url: metadata })).toMatchObject({ error: 'blocked_address' });
  });

  it('reaches exactly the trusted name and port, and only allowed ports elsewhere', async () => {
    const port = await serve((_, response) => response.end('x'));
    const resolve = async () => ['127.0.0.1'];
    const trust = (...trustedNames: string[]) => ({ policy: { pool: 't', trustedNames, ports: [80, 443] } });
    const { answer, fault } = await fetching({ allowedCidrs: [], resolve });
    const url = `http://inner.test:${port}/`;
    expect((await answer(port, { url, ...trust('inner.test') })).status).toBe(200);
    expect((await answer(port, { url, ...trust(`inner.test:${port}`) })).status).toBe(200);
    for (const entry of [`inner.test:${port + 1}`, '*.test', 'other.test'])
      expect(await fault(port, { url, ...trust(entry) })).toMatchObject({ error: 'blocked_address' });
    const open = await fetching({ allowedCidrs: [], resolve: async () => ['93.184.215.14'] });
    expect(await open.fault(port, { url: 'http://far.test:8081/', ...trust() })).toMatchObject({
      error: 'blocked_address',
    });
  });

  it('does not use the connection that another policy opened', async () => {
    const port = await serve((_, response) => response.end('x'));
    const resolve = async () => ['127.0.0.1'];
    const { answer, fault } = await fetching({ allowedCidrs: [], resolve });
    const url = `http://inner.test:${port}/`;
    await answer(port, { url, policy: { pool: 't', trustedNames: ['inner.test'] } });
    expect(await fault(port, { url, policy: { pool: 't' } })).toMatchObject({ error: 'blocked_address' });
  });
});
