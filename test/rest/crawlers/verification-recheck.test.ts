import { beforeEach, describe, expect, it } from 'vitest';
import { recheckBeforeRun, recheckDomains } from '../../../src/domain/crawlers/verification/record-check.ts';
import { outliveSetbacks } from '../../../src/jobs/upkeep.ts';
import { acme, type TestApp } from '../../support/app.ts';
import { useVerifying, type Verifying } from '../../support/crawlers/verifying.ts';

let setting: Verifying;
let app: TestApp;
useVerifying((started) => {
  setting = started;
  ({ app } = started);
});

describe('the daily look', () => {
  beforeEach(() =>
    app.services.orm.em
      .fork()
      .execute(`delete from domain_verification; delete from setting where name = 'upkeep clock'`),
  );
  const signal = new AbortController().signal;
  const hour = 3_600_000;
  const later = (hours: number) => {
    app.clock.now = new Date((app.clock.now ?? new Date()).getTime() + hours * hour);
  };
  const proved = async (draft: object = {}) => {
    const made = await setting.crawler(draft);
    app.clock.now = new Date();
    setting.dns.zone.set(`_portico-challenge.${made.name}`, [[`portico-verification=${made.token}`]]);
    expect((await made.check({ method: 'dns' })).state).toBe('verified');
    return { ...made, record: `_portico-challenge.${made.name}` };
  };
  const stateOf = async ({ at }: { at: string }) => (await app.ask('GET', `${at}/verification`)).body.state;

  it('happens once a day, and a proof that is there stays', async () => {
    const { at, record } = await proved();
    const { verified_at } = (await app.ask('GET', `${at}/verification`)).body;
    setting.dns.requested.length = 0;
    later(23);
    await recheckDomains(app.services, signal);
    expect(setting.dns.requested).not.toContain(record);
    later(1);
    await recheckDomains(app.services, signal);
    expect(setting.dns.requested).toContain(record);
    const { body } = await app.ask('GET', `${at}/verification`);
    expect([body.state, body.verified_at]).toEqual(['verified', verified_at]);
  });

  it.each([
    ['at once', 0],
    ['half an hour before', 0.5],
    ['five hours before', 5],
  ])('comes a day after a check that was made %s when the clock is set back by an hour', async (_when, before) => {
    const { record } = await proved();
    later(before);
    await outliveSetbacks(app.services);
    later(-1);
    await outliveSetbacks(app.services);
    setting.dns.requested.length = 0;
    later(24 - before - 0.01);
    await recheckDomains(app.services, signal);
    expect(setting.dns.requested).not.toContain(record);
    later(0.01);
    await recheckDomains(app.services, signal);
    expect(setting.dns.requested).toContain(record);
  });

  it('counts absence through a setback', async () => {
    const made = await proved();
    setting.dns.zone.delete(made.record);
    const look = async () => {
      later(24);
      await recheckDomains(app.services, signal);
      return stateOf(made);
    };
    expect([await look(), await look()]).toEqual(['verified', 'verified']);
    await outliveSetbacks(app.services);
    later(-1);
    await outliveSetbacks(app.services);
    expect([await look(), await look()]).toEqual(['verified', 'lost']);
  });

  it('goes by the time of the database', async () => {
    const { record, at } = await proved();
    const { clock } = app.services;
    app.services.clock = { now: () => new Date((app.clock.now?.getTime() ?? 0) + 30 * hour) };
    try {
      setting.dns.requested.length = 0;
      await recheckDomains(app.services, signal);
      expect(setting.dns.requested).not.toContain(record);
      later(24);
      await recheckDomains(app.services, signal);
      expect(setting.dns.requested).toContain(record);
      const { body } = await app.ask('GET', `${at}/verification`);
      expect(body.checked_at).toBe(app.clock.now?.toISOString());
    } finally {
      app.services.clock = clock;
    }
  });

  it('loses a domain after 72 hours of absence, notifies the webhook, and keeps the settings', async () => {
    const made = await proved({ webhook_url: 'https://hooks.example/x', webhook_extra_vars: 'a=1' });
    const { at, domain, record } = made;
    await app.ask('PATCH', at, { body: { domain, workers: 9 } });
    setting.dns.zone.delete(record);
    for (const hours of [24, 24, 24, 23]) {
      later(hours);
      await recheckDomains(app.services, signal);
      expect(await stateOf(made)).toBe('verified');
    }
    later(1);
    await recheckDomains(app.services, signal);
    expect(await stateOf(made)).toBe('lost');
    const { body } = await app.ask('GET', at);
    expect([body.domain_verified, body.verification.state, body.workers]).toEqual([0, 'lost', 9]);
    const em = app.services.orm.em.fork();
    const notifications = await em.execute<{ payload: string }[]>(
      "select payload from notification where type = 'crawler.verification.lost' and crawler_id = ?",
      [body.id],
    );
    expect(notifications.map(({ payload }) => JSON.parse(payload).data.verification)).toEqual([
      { host: domain, method: 'dns', state: 'lost' },
    ]);
    const audit = (await app.ask('GET', `${acme}/audit?action=crawlers.loseVerification`)).body;
    expect(audit[0]).toMatchObject({ subject_type: 'domain', subject_id: domain, actor: 'system:verification' });
    await recheckDomains(app.services, signal);
    expect(await em.execute('select 1 from notification where crawler_id = ?', [body.id])).toHaveLength(1);
    setting.dns.zone.set(record, [[`portico-verification=${made.token}`]]);
    expect((await made.check()).state).toBe('verified');
  });

  it('an unreachable server changes nothing, and a proof that comes back begins anew', async () => {
    const made = await proved();
    const { record, token } = made;
    const look = async (hours: number, records: string[][] | 'servfail' | null) => {
      if (records) setting.dns.zone.set(record, records);
      else setting.dns.zone.delete(record);
      later(hours);
      await recheckDomains(app.services, signal);
      return stateOf(made);
    };
    expect(await look(24, null)).toBe('verified');
    for (let day = 0; day < 5; day++) expect(await look(24, 'servfail')).toBe('verified');
    expect(await look(24, [[`portico-verification=${token}`]])).toBe('verified');
    for (let day = 0; day < 3; day++) expect(await look(24, null)).toBe('verified');
    expect(await look(24, null)).toBe('lost');
  });

  it('is made before a run, unless it was within the hour', async () => {
    const { record, domain } = await proved();
    const host = { organization_id: setting.organization, host: domain };
    setting.dns.requested.length = 0;
    later(0.9);
    await recheckBeforeRun(app.services, host, signal);
    expect(setting.dns.requested).toEqual([]);
    later(0.2);
    await recheckBeforeRun(app.services, host, signal);
    expect(setting.dns.requested).toContain(record);
  });
});
