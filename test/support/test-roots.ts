import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Makes roots (`caFile`) in a directory and has them sign a key for a host name; needs openssl. */
export function signedBy(directory: string, host: string): { caFile: string; key: Buffer; cert: Buffer } {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: directory, stdio: 'pipe' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', '/CN=Test roots');
  openssl('req', ...key, '-keyout', 'site.key', '-out', 'site.csr', '-subj', `/CN=${host}`);
  writeFileSync(join(directory, 'names'), `subjectAltName=DNS:${host}\n`);
  const signer = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names', '-days', '2'];
  openssl('x509', '-req', '-in', 'site.csr', ...signer, '-out', 'site.pem');
  const read = (name: string) => readFileSync(join(directory, name));
  return { caFile: join(directory, 'ca.pem'), key: read('site.key'), cert: read('site.pem') };
}
