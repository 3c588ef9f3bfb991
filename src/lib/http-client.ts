import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { getCACertificates } from 'node:tls';

const require = createRequire(import.meta.url);

/** The library below outgoing requests, loaded with the first of them: a start sends none, and would read a hundred files for it. */
export const undici = () => require('undici') as typeof import('undici');

/**
 * Certificates that servers are trusted by, as PEM: those of node and of the environment, and those of `caFile` (`PORTICO_CA_FILE`).
 * @throws Error when the file cannot be read
 */
export const trustedCertificates = (caFile: string | undefined): string[] => [
  ...getCACertificates('default'),
  ...(caFile === undefined ? [] : [readFileSync(caFile, 'utf8')]),
];
