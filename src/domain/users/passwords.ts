/**
 * Passwords as they are stored: `$scrypt$ln=17,r=8,p=1$<salt>$<key>`, salt and key in base64 (the form of PHC strings). The parameters are
 * those of the day they were set; one that is weaker than today's is stored anew at the next sign-in.
 */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import pLimit from 'p-limit';
import { z } from 'zod';
import { DomainError, fieldError } from '../../kernel/errors.ts';
import { withoutNul } from '../../kernel/shapes.ts';

/** scrypt (RFC 7914): log2 of the cost, block size, parallelism. */
interface Cost {
  ln: number;
  r: number;
  p: number;
}

const today: Cost = { ln: 17, r: 8, p: 1 };
const saltBytes = 16;
const keyBytes = 32;

/** Each takes 128 MiB while it is worked out. */
const limit = pLimit(2);
const mostWaiting = 50;

/** Keys of HMAC, on which scrypt stands, are filled up with NUL (RFC 2104): with some at its end a password would be the same one. */
const noNul = 'must not contain NUL';

/** A password to be set. What else is wrong with one depends on whose it is: `checkPassword`. */
export const newPassword = z
  .string()
  .min(12, 'must be at least 12 characters')
  .max(256, 'must be at most 256 characters')
  .regex(withoutNul, noNul);

/** A password to be compared. */
export const givenPassword = z
  .string()
  .min(1, 'is required')
  .max(256, 'must be at most 256 characters')
  .regex(withoutNul, noNul);

/** @throws DomainError `invalid_request` for one that is the first thing anybody tries */
export function checkPassword(field: string, password: string, person: { email: string; name: string }): void {
  const plain = (text: string) => text.normalize('NFKC').trim().toLowerCase();
  const [local = ''] = person.email.split('@');
  if ([person.email, local, person.name].some((text) => plain(text) === plain(password)))
    throw fieldError('invalid_request', field, 'must not be your e-mail or your name');
}

/** @throws DomainError `unavailable` when too many wait */
function derive(password: string, salt: Buffer, { ln, r, p }: Cost): Promise<Buffer> {
  if (limit.pendingCount >= mostWaiting)
    throw new DomainError('unavailable', 'Too many people are signing in at the moment; try again in a few seconds');
  const N = 2 ** ln;
  return limit(
    () =>
      new Promise((resolve, reject) => {
        const options = { N, r, p, maxmem: 128 * N * r + 1024 * 1024 };
        scrypt(password.normalize('NFKC'), salt, keyBytes, options, (error, key) =>
          error ? reject(error) : resolve(key),
        );
      }),
  );
}

const stored = /^\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;
const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');

/** @returns what to store of a password */
export async function hashPassword(password: string, cost: Cost = today): Promise<string> {
  const salt = randomBytes(saltBytes);
  const key = await derive(password, salt, cost);
  return `$scrypt$ln=${cost.ln},r=${cost.r},p=${cost.p}$${base64(salt)}$${base64(key)}`;
}

/** Of no password: compared where none is stored, so that the answer takes as long. */
const nothing = `$scrypt$ln=${today.ln},r=${today.r},p=${today.p}$${base64(Buffer.alloc(saltBytes))}$${base64(Buffer.alloc(keyBytes))}`;

/**
 * Compares a password with what is stored; the time does not depend on whether anything is.
 * @returns whether it is right, and whether it should be stored anew
 */
export async function verifyPassword(password: string, kept: string | null): Promise<{ ok: boolean; isWeak: boolean }> {
  const [, ln, r, p, salt = '', key = ''] = stored.exec(kept ?? nothing) ?? [];
  const cost = { ln: Number(ln), r: Number(r), p: Number(p) };
  const derived = await derive(password, Buffer.from(salt, 'base64'), cost);
  const ok = timingSafeEqual(derived, Buffer.from(key, 'base64')) && kept !== null;
  return { ok, isWeak: cost.ln < today.ln || cost.r < today.r || cost.p < today.p };
}
