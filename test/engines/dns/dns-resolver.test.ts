import { expect, it } from 'vitest';
import { createDnsResolver } from '../../../src/engines/dns/dns-resolver.ts';
import { shared } from '../../support/app.ts';
import { startDnsServer } from '../../support/dns-server.ts';

const dns = shared(startDnsServer);

const ask = (name: string) => createDnsResolver([dns.address]).txt(name);

it('joins the strings of a record, and keeps records apart', async () => {
  dns.zone.set('a.example', [['one ', 'text'], ['other']]);
  expect(await ask('a.example')).toEqual({ outcome: 'records', texts: ['one text', 'other'] });
});

it('distinguishes an absent name from a failed lookup', async () => {
  dns.zone.set('none.example', []).set('broken.example', 'servfail');
  expect(await ask('none.example')).toEqual({ outcome: 'absent' });
  expect(await ask('nobody.example')).toEqual({ outcome: 'absent' });
  expect(await ask('broken.example')).toEqual({ outcome: 'unreachable', reason: 'ESERVFAIL' });
  const nowhere = await startDnsServer();
  await nowhere.close();
  const answer = await createDnsResolver([nowhere.address]).txt('a.example');
  expect(answer.outcome).toBe('unreachable');
});

it('remembers nothing between two questions', async () => {
  dns.zone.set('b.example', [['old']]);
  await ask('b.example');
  dns.zone.set('b.example', [['new']]);
  expect(await ask('b.example')).toEqual({ outcome: 'records', texts: ['new'] });
});
