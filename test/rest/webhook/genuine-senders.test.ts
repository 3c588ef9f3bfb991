import { gzipSync } from 'node:zlib';
import all from '@octokit/webhooks-examples' with { type: 'json' };
import { sign as octokitSign, verify } from '@octokit/webhooks-methods';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import { metricsToken, shared } from '../../support/app.ts';
import fc from '../../support/properties.ts';
import { call, newWebhook, type Sent, sign, startWebhookApp, workflowsPath } from '../../support/webhook.ts';

const app = shared(startWebhookApp);
const hook = shared(() => newWebhook(app, { auth_mode: 'hmac' }));

// Its types declare a module; the file itself is a list.
const examples: unknown = all;
const payloads = (examples as { name: string; examples: object[] }[]).flatMap(({ name, examples: shown }) =>
  shown.map((payload) => ({ name, text: JSON.stringify(payload) })),
);
const send = (sent: Sent) => call(app.url, hook.endpoint, sent);

/** Eight at a time. */
async function forEach<T>(items: readonly T[], work: (item: T, at: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < items.length; at = next++) await work(items[at] as T, at);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

it('every payload GitHub shows, signed by its own library, is accepted, and with one byte changed refused', async () => {
  expect(payloads.length).toBeGreaterThan(300);
  await forEach(payloads, async ({ name, text }, at) => {
    const signature = await octokitSign(hook.secret, text);
    expect(await verify(hook.secret, text, signature)).toBe(true);
    const headers = { 'x-hub-signature-256': signature, 'x-github-event': name, 'content-type': 'application/json' };
    const body = Buffer.from(text);
    expect((await send({ headers, body })).status).toBe(202);
    const place = (at * 7919) % body.length;
    body[place] = (body[place] ?? 0) ^ 1;
    expect((await send({ headers, body })).status).toBe(401);
  });
  const events = await app.services.orm.em
    .fork()
    .execute("select distinct headers ->> 'x-github-event' as event from delivery where trigger_id = ?", [
      hook.trigger,
    ]);
  expect(new Set(events.map(({ event }) => event))).toEqual(new Set(payloads.map(({ name }) => name)));
});

it('any change of body or signature is refused, any framing of the right bytes accepted', async () => {
  // Not so many failures that they would be refused for that.
  const change = fc.oneof(
    fc.record({ kind: fc.constant('flip' as const), seed: fc.nat(), bit: fc.integer({ min: 0, max: 7 }) }),
    fc.record({ kind: fc.constant('cut' as const), seed: fc.nat(), bit: fc.constant(0) }),
    fc.record({ kind: fc.constant('add' as const), seed: fc.nat(), bit: fc.constant(0) }),
    fc.record({ kind: fc.constant('digit' as const), seed: fc.nat(), bit: fc.integer({ min: 1, max: 15 }) }),
    fc.record({ kind: fc.constant('line' as const), seed: fc.nat(), bit: fc.constant(0) }),
    fc.record({ kind: fc.constant('split' as const), seed: fc.nat(), bit: fc.constant(0) }),
    fc.record({ kind: fc.constant('gzip' as const), seed: fc.nat(), bit: fc.constant(0) }),
  );
  const property = fc.asyncProperty(fc.constantFrom(...payloads), change, async ({ text }, { kind, seed, bit }) => {
    const body = Buffer.from(text);
    const signature = sign(hook.secret, body);
    const place = seed % body.length;
    const headers = (line: string | string[] = signature) => ({ 'x-hub-signature-256': line });
    const flipped = Buffer.from(body);
    flipped[place] = (flipped[place] ?? 0) ^ (1 << bit);
    const digit = 7 + (seed % 64);
    const other = (Number.parseInt(signature.charAt(digit), 16) ^ bit).toString(16);
    const coded = gzipSync(body);
    const cases: Record<typeof kind, [Sent, number]> = {
      flip: [{ body: flipped, headers: headers() }, 401],
      cut: [{ body: body.subarray(0, place), headers: headers() }, 401],
      add: [{ body: Buffer.concat([body, Buffer.from('\n')]), headers: headers() }, 401],
      digit: [{ body, headers: headers(signature.slice(0, digit) + other + signature.slice(digit + 1)) }, 401],
      line: [{ body, headers: headers([signature, signature]) }, 401],
      split: [
        {
          chunks: [body.subarray(0, place), body.subarray(place)].filter(({ length }) => length > 0),
          headers: headers(),
        },
        202,
      ],
      gzip: [{ body: coded, headers: { ...headers(sign(hook.secret, coded)), 'content-encoding': 'gzip' } }, 202],
    };
    const [sent, status] = cases[kind];
    expect((await send(sent)).status).toBe(status);
  });
  await fc.assert(property, { numRuns: 300 });
});

it('a sender of the standard is known by its ids, but its signature is none of ours', async () => {
  const standard = new StandardWebhook(Buffer.from(hook.secret).toString('base64'));
  const body = '{"type":"a"}';
  const at = new Date();
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': standard.sign('msg_1', at, body),
  };
  expect((await send({ headers, body })).status).toBe(401);
  const both = { ...headers, 'x-hub-signature-256': sign(hook.secret, body) };
  const first = await send({ headers: both, body });
  expect([first.status, (await send({ headers: both, body })).text]).toEqual([202, first.text]);
});

it('no secret is in the log, the database or an answer but reveal', async () => {
  const second = (await app.ask('POST', `${workflowsPath}${hook.path}/rotate`, { body: { grace_period_seconds: 60 } }))
    .body.secret as string;
  const bearer = await newWebhook(app);
  await call(app.url, bearer.endpoint, {
    headers: { authorization: `Bearer ${bearer.secret}`, 'x-echo': bearer.secret },
  });
  await call(app.url, bearer.endpoint, { query: `token=${bearer.secret}&copy=${bearer.secret}` });
  await call(app.url, bearer.endpoint, { query: `token=${bearer.secret}x` });
  const secrets = [hook.secret, second, bearer.secret];
  const forms = secrets.flatMap((secret) => [
    secret,
    Buffer.from(secret).toString('base64').slice(0, -2),
    Buffer.from(secret).toString('hex'),
  ]);
  const em = app.services.orm.em.fork();
  const tables = await em.execute(
    "select table_schema || '.' || table_name as name from information_schema.tables where table_schema in ('public', 'pgboss') and table_type = 'BASE TABLE'",
  );
  const places: Record<string, string> = { log: app.log.join('') };
  for (const { name } of tables)
    places[String(name)] = JSON.stringify(await em.execute(`select t::text from ${name} t`));
  for (const path of [
    '',
    `/${bearer.workflow}`,
    bearer.path,
    `${bearer.path}/deliveries`,
    `/${bearer.workflow}/triggers`,
  ])
    places[path] = JSON.stringify((await app.ask('GET', `${workflowsPath}${path}`)).body);
  places.audit = JSON.stringify((await app.ask('GET', '/api/v2/organizations/acme/audit')).body);
  places.metrics = String((await app.ask('GET', '/metrics', { token: metricsToken })).body);
  expect(places.metrics).toContain('# TYPE ');
  expect(places['public.workflow_trigger']).toContain('v1.');
  for (const [place, text] of Object.entries(places))
    expect([place, forms.filter((form) => text.includes(form))]).toEqual([place, []]);
});
