import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createHostResolver } from '../../../src/engines/http/guard.ts';
import { shared } from '../../support/app.ts';
import { startDnsServer } from '../../support/dns-server.ts';
import { temporaryDirectory } from '../../support/git-store.ts';

const dns = shared(startDnsServer);
beforeEach(() => {
  dns.addresses.clear();
  dns.requested.length = 0;
});

/** A resolver of the server, with files of these texts. */
async function resolver({ hosts = '', settings = '', time = 10_000 } = {}) {
  const directory = temporaryDirectory();
  const [hostsFile, settingsFile] = [join(directory, 'hosts'), join(directory, 'resolv.conf')];
  await writeFile(hostsFile, hosts);
  await writeFile(settingsFile, settings);
  return { resolve: createHostResolver({ servers: [dns.address], hostsFile, settingsFile, time }), hostsFile };
}

describe('the addresses of a host', () => {
  it('are all of both families, looked up anew each time', async () => {
    const { resolve } = await resolver();
    dns.addresses.set('a.example', ['192.0.2.1', '2001:db8::1', '192.0.2.2']);
    expect(await resolve('A.Example')).toEqual(['192.0.2.1', '192.0.2.2', '2001:db8::1']);
    dns.addresses.set('a.example', ['127.0.0.1']);
    expect(await resolve('a.example.')).toEqual(['127.0.0.1']);
  });

  it('are those of the file of hosts, without a query, and the file is read again when it has changed', async () => {
    const { resolve, hostsFile } = await resolver({ hosts: '10.0.0.7 Inner.example inner # b.example\n::7 inner\n' });
    dns.addresses.set('inner.example', ['192.0.2.1']);
    expect(await resolve('inner.example')).toEqual(['10.0.0.7']);
    expect(await resolve('INNER')).toEqual(['10.0.0.7', '::7']);
    expect(dns.requested).toEqual([]);
    await writeFile(hostsFile, '# inner.example is gone\n');
    expect(await resolve('inner.example')).toEqual(['192.0.2.1']);
  });

  it('of localhost are those of this machine, whatever a name server answers', async () => {
    const { resolve } = await resolver();
    dns.addresses.set('localhost', ['192.0.2.1']).set('a.localhost', ['192.0.2.1']);
    expect(await resolve('localhost')).toEqual(['127.0.0.1', '::1']);
    expect(await resolve('a.localhost.')).toEqual(['127.0.0.1', '::1']);
  });

  it('of a short name are searched in the domains of the system first, of a long one last', async () => {
    const { resolve } = await resolver({ settings: 'search one.example two.example\noptions ndots:2\n' });
    dns.addresses
      .set('git.two.example', ['192.0.2.2'])
      .set('a.b.c', ['192.0.2.3'])
      .set('a.b.c.d.two.example', ['192.0.2.4']);
    expect(await resolve('git')).toEqual(['192.0.2.2']);
    expect(await resolve('a.b.c')).toEqual(['192.0.2.3']);
    expect(await resolve('a.b.c.d')).toEqual(['192.0.2.4']);
    expect([...new Set(dns.requested)]).toEqual([
      'git.one.example',
      'git.two.example',
      'a.b.c',
      'a.b.c.d',
      'a.b.c.d.one.example',
      'a.b.c.d.two.example',
    ]);
    await expect(resolve('git.')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('are searched on where one domain of the search list fails', async () => {
    const { resolve } = await resolver({ settings: 'search broken.example two.example\n' });
    dns.addresses.set('git.broken.example', 'servfail').set('git.two.example', ['192.0.2.2']);
    expect(await resolve('git')).toEqual(['192.0.2.2']);
    dns.addresses.delete('git.two.example');
    await expect(resolve('git')).rejects.toMatchObject({ code: 'ESERVFAIL' });
  });

  it('are searched in 32 domains', async () => {
    const domains = Array.from({ length: 33 }, (_, at) => `d${at + 1}.example`);
    const { resolve } = await resolver({ settings: `search ${domains.join(' ')}\n` });
    dns.addresses.set('git.d32.example', ['192.0.2.32']).set('wiki.d33.example', ['192.0.2.33']);
    expect(await resolve('git')).toEqual(['192.0.2.32']);
    await expect(resolve('wiki')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('fail with ENOTFOUND where a name has none, and with the error of a name server that fails', async () => {
    const { resolve } = await resolver();
    dns.addresses.set('none.example', []).set('broken.example', 'servfail');
    await expect(resolve('none.example')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    await expect(resolve('unknown.example')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    await expect(resolve('broken.example')).rejects.toMatchObject({ code: 'ESERVFAIL' });
  });

  it('are found while twenty names wait for name servers that are silent', async () => {
    const { resolve } = await resolver({ time: 1_000 });
    dns.addresses.set('quick.example', ['192.0.2.1']);
    let waiting = 20;
    const slow = Array.from({ length: waiting }, async (_, at) => {
      dns.addresses.set(`silent-${at}.example`, 'silent');
      await expect(resolve(`silent-${at}.example`)).rejects.toMatchObject({ code: 'ECANCELLED' });
      waiting -= 1;
    });
    expect(await resolve('quick.example')).toEqual(['192.0.2.1']);
    expect(waiting).toBe(20);
    await Promise.all(slow);
  });
});
