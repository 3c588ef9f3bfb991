import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { mostTries, nextPause } from '../../../src/domain/notifications/deliver.ts';
import { type EventPlace, eventPayload, extraOf } from '../../../src/domain/notifications/event-payload.ts';
import { signedHeaders } from '../../../src/domain/notifications/send.ts';
import { newWebhookSecret } from '../../../src/domain/notifications/webhook-secret.ts';

describe('signatures', () => {
  it('is that of the published example', () => {
    const headers = signedHeaders(
      { secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', version: '1.0' },
      '{"test": 2432232314}',
      new Date(1_614_265_330_000),
    );
    expect(headers).toMatchObject({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
      'User-Agent': 'Portico-Webhooks/1.0',
    });
  });

  it('is accepted by the receiver of the standard, and refused when anything is changed', () => {
    const secret = newWebhookSecret();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/);
    const body = JSON.stringify({ text: 'ä😀' });
    const headers = signedHeaders({ secret, id: 'msg_1', version: '1' }, body, new Date());
    expect(new Webhook(secret).verify(body, headers)).toEqual({ text: 'ä😀' });
    expect(() => new Webhook(newWebhookSecret()).verify(body, headers)).toThrow();
    expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow();
    expect(() => new Webhook(secret).verify(body, { ...headers, 'webhook-id': 'msg_2' })).toThrow();
    const late = signedHeaders({ secret, id: 'msg_1', version: '1' }, body, new Date(Date.now() - 6 * 60_000));
    expect(() => new Webhook(secret).verify(body, late)).toThrow();
  });
});

describe('the schedule of tries', () => {
  it('goes from five seconds to ten hours, a tenth more or less', () => {
    const minutes = [5 / 60, 5, 30, 120, 300, 600, 600];
    expect(mostTries).toBe(8);
    for (const [index, pause] of minutes.entries()) {
      expect(nextPause(index + 1, null, 0.5)).toBe(pause * 60_000);
      expect(nextPause(index + 1, null, 0)).toBe(pause * 54_000);
      expect(nextPause(index + 1, null, 1)).toBe(pause * 66_000);
    }
    expect(nextPause(8, null, 0.5)).toBeNull();
  });

  it('obeys a longer wait up to an hour, and no shorter one', () => {
    expect(nextPause(1, 60_000, 0.5)).toBe(60_000);
    expect(nextPause(1, 3_600_000, 0.5)).toBe(3_600_000);
    expect(nextPause(1, 3_600_001, 0.5)).toBe(3_600_000);
    expect(nextPause(2, 1_000, 0.5)).toBe(300_000);
  });
});

describe('the payload', () => {
  const place: EventPlace = {
    organization: 'acme',
    project: 'site',
    crawler: { id: 1, uuid: 'u', name: 'n', domain: 'docs.test' },
    extraVars: 'key1=value1&key2=a%20b+c&key1=last',
  };
  const at = new Date('2026-03-01T08:00:00.123Z');

  it('carries the extra variables decoded, the last value of a key', () => {
    expect(JSON.parse(eventPayload('msg_1', 'crawler.test', at, place, {}))).toEqual({
      id: 'msg_1',
      type: 'crawler.test',
      timestamp: '2026-03-01T08:00:00.123Z',
      data: { organization: 'acme', project: 'site', crawler: place.crawler },
      extra: { key1: 'last', key2: 'a b c' },
    });
    expect(extraOf(undefined)).toEqual({});
  });

  it('stays below 64 KiB, and contains ten errors at most', () => {
    const errors = (length: number, count: number) =>
      Array.from({ length: count }, (_, index) => ({
        url: `http://docs.test/${index}${'x'.repeat(length)}`,
        error: 'timeout',
      }));
    const payloadWith = (length: number, count: number) =>
      eventPayload('msg_1', 'crawler.run.failed', at, place, { first_errors: errors(length, count) });
    expect(JSON.parse(payloadWith(10, 12)).data.first_errors).toEqual(errors(10, 10));
    const long = payloadWith(16_000, 10);
    expect(Buffer.byteLength(long)).toBeLessThan(64 * 1024);
    expect(JSON.parse(long).data.first_errors).toEqual(errors(16_000, 4));
  });
});
