import { expect, it } from 'vitest';
import { tokenOf } from '../../../src/domain/identity/authenticate.ts';
import fc from '../../support/properties.ts';

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

it.each<[string | undefined, string | null]>([
  ['Bearer abc', 'abc'],
  ['bearer  abc', 'abc'],
  [basic('user:abc'), 'abc'],
  [basic(':abc'), 'abc'],
  [basic('user:a:b'), 'a:b'],
  [basic('user:'), ''],
  ['Digest abc', null],
  ['abc', null],
  ['', null],
  [undefined, null],
])('reads %j as %j', (header, token) => {
  expect(tokenOf(header)).toBe(token);
});

it('takes any text for a header', () => {
  fc.assert(fc.property(fc.string(), (text) => void tokenOf(text)));
});

it('finds the password whatever the user is called', () => {
  const user = fc.string().filter((text) => !text.includes(':'));
  fc.assert(
    fc.property(user, (name) => {
      expect(tokenOf(basic(`${name}:ptc_x`))).toBe('ptc_x');
    }),
  );
});
