import { expect, it } from 'vitest';
import { redactor } from '../../../../src/lib/encodings.ts';
import fc from '../../../support/properties.ts';

const secret = 'Su"per\\Secret Välue\n42+/=&%41<x>';
const redact = redactor({ KEY: secret, TOKEN: 'tok-ABCDEF0123456789' });

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
])('is taken out as %s', (_form, text) => {
  const kept = String(redact(text));
  expect(kept).toContain('[secret KEY]');
  expect(kept).not.toMatch(/lue|42|6c7565|bHVl/i);
});

it('is taken out in letters of another case, as of host names', () => {
  expect(redact({ 'a TOK-abcdef0123456789': ['https://tok-abcdef0123456789.example'] })).toEqual({
    'a [secret TOKEN]': ['https://[secret TOKEN].example'],
  });
});

it('whatever it is, and no mark is marked again', () => {
  const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(text, (value) => {
      const own = redactor({ KEY: value, OTHER: 'secret' });
      expect(own(value)).toMatch(/^\[secret (?:KEY|OTHER)\]$/);
      expect(own(JSON.stringify({ '': value }))).toMatch(/"\[secret (?:KEY|OTHER)\]"/);
    }),
  );
});
