import { describe, expect, it } from 'vitest';
import {
  BodySignatures,
  bearerOf,
  matchSecret,
  signatureOf,
} from '../../../../src/domain/workflows/webhook/authenticate.ts';
import fc from '../../../support/properties.ts';

const key = "It's a Secret to Everybody";
const form = 'payload=%7B%22zen%22%3A%22Keep%20it%20simple.%22%7D';
const vectors: [string, Buffer, string][] = [
  [
    'the documented one',
    Buffer.from('Hello, World!'),
    '757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
  ],
  ['no body', Buffer.alloc(0), '66a0c074deaa0f489ead6537e0d32f9a344b90bbeda705b6ed45ecd3b413fb40'],
  ['UTF-8', Buffer.from('{"a":"😊 é"}'), '66e3c3cf24fd0d5b3b58ecdd82074983825ac106a799290351df302ae4d0da53'],
  ['JSON', Buffer.from('{"a":1}'), '3aea7d9882012d69ea49b8443b94e755179f85ee830bfa901efb5dc673af63a3'],
  ['a line feed', Buffer.from('{"a":1}\n'), 'e02e81d467a1c4a47f0a2bb2964e7ac722b2e2340512187535bad0c6137c825f'],
  [
    'a byte order mark',
    Buffer.from('\ufeff{"a":1}'),
    '14249169651ad40fee46e78650c111583952003c796fd010ddb2df7e17b66f81',
  ],
  ['a form', Buffer.from(form), 'a7aa5110543054a23b728c37c413fd293865a67984639fe207297c0ecfcff6eb'],
  [
    'no text at all',
    Buffer.from('fffe0001', 'hex'),
    '5702c8786d3caadc8970d05d0aa57897410676fa2766399b972b2d8a7beba176',
  ],
];

const matches = (chunks: readonly Uint8Array[], header: string, value = key) => {
  const signature = signatureOf(header);
  const signatures = new BodySignatures([{ version: 3, value }]);
  for (const chunk of chunks) signatures.update(chunk);
  return signature && signatures.match(signature);
};

describe.each(vectors)('the signature of %s', (_what, body, hex) => {
  it('matches, whole, byte by byte and in capitals', () => {
    expect(matches([body], `sha256=${hex}`)).toBe(3);
    expect(
      matches(
        [...body].map((byte) => Uint8Array.of(byte)),
        `sha256=${hex}`,
      ),
    ).toBe(3);
    expect(matches([body], `sha256=${hex.toUpperCase()}`)).toBe(3);
  });

  it('of any other body, secret or digit does not', () => {
    expect(matches([body, Uint8Array.of(0)], `sha256=${hex}`)).toBeNull();
    expect(matches([body], `sha256=${hex}`, `${key} `)).toBeNull();
    fc.assert(
      fc.property(fc.nat(63), fc.integer({ min: 1, max: 15 }), (at, add) => {
        const digit = ((Number.parseInt(hex.charAt(at), 16) + add) % 16).toString(16);
        expect(matches([body], `sha256=${hex.slice(0, at)}${digit}${hex.slice(at + 1)}`)).toBeNull();
      }),
      { numRuns: 30 },
    );
  });
});

it.each([
  '',
  'sha256=',
  `sha256=${'a'.repeat(63)}`,
  `sha256=${'a'.repeat(65)}`,
  `sha1=${'a'.repeat(40)}`,
  `SHA256=${'a'.repeat(64)}`,
  'a'.repeat(64),
  ` sha256=${'a'.repeat(64)}`,
  `sha256=${'g'.repeat(64)}`,
])('%j is no signature', (header) => {
  expect(signatureOf(header)).toBeNull();
});

it('within a grace both secrets open, and which one did is known', () => {
  const secrets = [
    { version: 2, value: 'new' },
    { version: 1, value: 'old' },
  ];
  expect(['new', 'old', 'newer', '', 'old '].map((given) => matchSecret(secrets, given))).toEqual([
    2,
    1,
    null,
    null,
    null,
  ]);
  expect(matchSecret([], '')).toBeNull();
});

it.each([
  ['Bearer abc', 'abc'],
  ['bearer  abc ', 'abc'],
  ['BEARER abc', 'abc'],
  ['Bearer', null],
  ['Bearer a b', null],
  ['Basic abc', null],
  ['', null],
])('Authorization: %j carries %j', (line, token) => {
  expect(bearerOf(line)).toBe(token);
});
