import { generateKeyPairSync, sign } from 'node:crypto';

/** DER (ITU-T X.690): tag, length, content. */
function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const bytes: number[] = [];
  for (let rest = content.length; rest > 0; rest >>= 8) bytes.unshift(rest & 255);
  const length = content.length < 128 ? [content.length] : [128 | bytes.length, ...bytes];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts);
const set = (...parts: Uint8Array[]) => der(0x31, ...parts);
const integer = (...bytes: number[]) => der(0x02, Buffer.from(bytes));
const time = (text: string) => der(0x18, Buffer.from(text));
const octets = (part: Uint8Array) => der(0x04, part);
const bits = (part: Uint8Array) => der(0x03, Buffer.concat([Buffer.from([0]), part]));
const identifier = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));

const ecdsaWithSha256 = sequence(identifier('2a8648ce3d040302'));
const commonName = identifier('550403');
const extension = (oid: string, critical: boolean, value: Uint8Array) =>
  sequence(identifier(oid), ...(critical ? [der(0x01, Buffer.from([255]))] : []), octets(value));

const pem = (label: string, body: Buffer) =>
  `-----BEGIN ${label}-----\n${(body.toString('base64').match(/.{1,64}/g) ?? []).join('\n')}\n-----END ${label}-----\n`;

/** A key, and a certificate (X.509 v3, RFC 5280) it signs for itself, good for 127.0.0.1 and localhost and as a root to trust. */
export function selfSigned(ends = '20991231235959Z'): { key: Buffer; cert: Buffer } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const name = sequence(set(sequence(commonName, der(0x0c, Buffer.from('Portico test')))));
  const alternatives = sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from([127, 0, 0, 1])));
  const extensions = sequence(
    extension('551d13', true, sequence(der(0x01, Buffer.from([255])))),
    extension('551d11', false, alternatives),
  );
  const body = sequence(
    der(0xa0, integer(2)),
    integer(1),
    ecdsaWithSha256,
    name,
    sequence(time('20200101000000Z'), time(ends)),
    name,
    publicKey.export({ format: 'der', type: 'spki' }),
    der(0xa3, extensions),
  );
  const certificate = sequence(body, ecdsaWithSha256, bits(sign('sha256', body, privateKey)));
  return {
    key: Buffer.from(privateKey.export({ format: 'pem', type: 'pkcs8' })),
    cert: Buffer.from(pem('CERTIFICATE', certificate)),
  };
}
