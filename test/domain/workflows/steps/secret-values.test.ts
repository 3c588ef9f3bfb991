import { expect, it } from 'vitest';
import { redactor } from '../../../../src/lib/redaction/encodings.ts';
import { iterationsDuring } from '../../../support/loop-iterations.ts';
import fc from '../../../support/properties.ts';

const secret = 'Su"per\\Secret Välue\n42+/=&%41<x>';
const redact = await redactor({ KEY: secret, TOKEN: 'tok-ABCDEF0123456789' });

it.each([
  ['itself', secret],
  ['JSON', JSON.stringify({ k: secret })],
  ['JSON within JSON', JSON.stringify({ body: JSON.stringify({ k: secret }) })],
  ['JSON of ASCII alone', '{"k": "Su\\"per\\\\Secret V\\u00e4lue\\n42+/=&%41<x>"}'],
  ['JSON with escaped slashes', JSON.stringify(secret).replaceAll('/', '\\/')],
  ['a path', new URL(`https://a.example/to/${secret}/there`).href],
  ['a query', new URL(`https://a.example/?k=${secret}`).href],
  ['a component', encodeURIComponent(secret)],
  ['a form', String(new URLSearchParams({ k: secret }))],
  ['base64', Buffer.from(secret).toString('base64')],
  ['the middle of base64', Buffer.from(`user:${secret}!`).toString('base64')],
  ['the middle of base64url', Buffer.from(`us:${secret}!`).toString('base64url')],
  ['base64 of a byte a character', btoa(`user:${secret}`)],
  ['JSON in a query', new URL(`https://a.example/?k=${JSON.stringify({ k: secret })}`).href],
  ['JSON in a component', encodeURIComponent(JSON.stringify({ k: secret }))],
  ['a password', Object.assign(new URL('https://a.example'), { username: 'user', password: secret }).href],
  ['hexadecimal', Buffer.from(secret).toString('hex').toUpperCase()],
])('is taken out as %s', async (_form, text) => {
  const kept = String(await redact(text));
  expect(kept).toContain('[secret KEY]');
  expect(kept).not.toMatch(/lue|42|6c7565|bHVl/i);
});

it('is taken out in letters of another case, as of host names', async () => {
  expect(await redact({ 'a TOK-abcdef0123456789': ['https://tok-abcdef0123456789.example'] })).toEqual({
    'a [secret TOKEN]': ['https://[secret TOKEN].example'],
  });
});

it('whatever it is, and no mark is marked again', async () => {
  const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(text, async (value) => {
      const own = await redactor({ KEY: value, OTHER: 'secret' });
      expect(await own(value)).toMatch(/^\[secret (?:KEY|OTHER)\]$/);
      expect(await own(JSON.stringify({ '': value }))).toMatch(/"\[secret (?:KEY|OTHER)\]"/);
    }),
  );
});

it('leaves a key that could become a prototype a key', async () => {
  const value = JSON.parse('{"__proto__": {"tok-ABCDEF0123456789": 1}, "2": [null, true], "1": "x"}');
  expect(JSON.stringify(await redact(value))).toBe('{"1":"x","2":[null,true],"__proto__":{"[secret TOKEN]":1}}');
});

it('is found in a large answer in many steps, whatever the two are', async () => {
  const own = await redactor({ KEY: `${'a'.repeat(10)}b${'a'.repeat(16_000)}` });
  const answer = `${'a'.repeat(2_000_000)}b${'a'.repeat(16_001)}`;
  const steps = iterationsDuring(async () => {
    expect(await own({ body: answer })).toEqual({ body: `${'a'.repeat(2_000_000 - 10)}[secret KEY]a` });
  });
  expect(await steps).toBeGreaterThan(4);
});

it.each([
  ['one of 16 KiB', ['k'.repeat(16 * 1024)]],
  ['one of 16 KiB that JSON and URLs write otherwise', ['"/é '.repeat(3_276)]],
  ['50 of 16 KiB', Array.from({ length: 50 }, (_, at) => `${at + 10}${'k'.repeat(16 * 1024 - 2)}`)],
])('are as many and as long as they may be: %s', async (_what, values) => {
  const secrets = Object.fromEntries(values.map((value, at) => [`KEY_${at}`, value]));
  let own: Awaited<ReturnType<typeof redactor>> | undefined;
  const steps = iterationsDuring(async () => {
    own = await redactor(secrets);
  });
  expect(await steps).toBeGreaterThan(values.length / 2);
  const shown = await own?.(values.flatMap((value) => [value, encodeURIComponent(value)]));
  expect(shown).toEqual(Object.keys(secrets).flatMap((name) => [`[secret ${name}]`, `[secret ${name}]`]));
  expect(await iterationsDuring(() => redactor({ ...secrets }))).toBeLessThan(2);
});

it('are not taken out of more than is kept, however long that makes it', async () => {
  const own = await redactor({ A: 'a' });
  const shown = (await own({ first: 'a', body: 'a'.repeat(2_000_000), last: 'a' }, 500_000)) as Record<string, string>;
  expect(shown.first).toBe('[secret A]');
  expect(shown.body?.length).toBeGreaterThan(500_000);
  expect(shown.body?.length).toBeLessThan(700_000);
  expect(shown.body?.replaceAll('[secret A]', '')).toBe('');
  expect(Object.values(shown).at(-1)).toBe('');
});
