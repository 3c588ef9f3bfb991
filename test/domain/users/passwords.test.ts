import { describe, expect, it } from 'vitest';
import {
  checkPassword,
  givenPassword,
  hashPassword,
  newPassword,
  verifyPassword,
} from '../../../src/domain/users/passwords.ts';

const cheap = { ln: 4, r: 8, p: 1 };

describe('a stored password', () => {
  it('names the function, its cost and a salt of its own', async () => {
    const [one, two] = await Promise.all([hashPassword('correct horse'), hashPassword('correct horse')]);
    expect(one).toMatch(/^\$scrypt\$ln=17,r=8,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(one).not.toBe(two);
    expect(await verifyPassword('correct horse', one)).toEqual({ ok: true, isWeak: false });
  });

  it('is that of RFC 7914, section 12', async () => {
    // scrypt (P="pleaseletmein", S="SodiumChloride", N=16384, r=8, p=1), the first 32 of 64 bytes.
    const salt = Buffer.from('SodiumChloride').toString('base64').replace(/=+$/, '');
    const key = Buffer.from('7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2', 'hex').toString(
      'base64',
    );
    const kept = `$scrypt$ln=14,r=8,p=1$${salt}$${key.replace(/=+$/, '')}`;
    expect(await verifyPassword('pleaseletmein', kept)).toEqual({ ok: true, isWeak: true });
    expect(await verifyPassword('pleaseletmeout', kept)).toEqual({ ok: false, isWeak: true });
  });

  it('is compared alike where none is stored', async () => {
    expect(await verifyPassword('', null)).toEqual({ ok: false, isWeak: false });
    expect((await verifyPassword('x', await hashPassword('x', cheap))).ok).toBe(true);
  });

  it('is read the same however its letters were composed', async () => {
    expect((await verifyPassword('pa\u0073\u0308wort lang', await hashPassword('pas\u0308wort lang', cheap))).ok).toBe(
      true,
    );
    expect((await verifyPassword('\u00e9'.repeat(12), await hashPassword('e\u0301'.repeat(12), cheap))).ok).toBe(true);
  });

  it('is refused while 50 wait', async () => {
    const many = Array.from({ length: 60 }, () => hashPassword('x', { ln: 12, r: 8, p: 1 }));
    const settled = await Promise.allSettled(many);
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(52);
    const [refused] = settled.filter((each) => each.status === 'rejected');
    expect(refused?.reason).toMatchObject({ code: 'unavailable' });
  });
});

describe('a new password', () => {
  it('has 12 to 256 characters', () => {
    expect([11, 12, 256, 257].map((length) => newPassword.safeParse('x'.repeat(length)).success)).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });

  it('has no NUL, which scrypt does not tell from the end', async () => {
    const kept = await hashPassword('correct horse', cheap);
    expect((await verifyPassword('correct horse\0', kept)).ok).toBe(true);
    for (const schema of [newPassword, givenPassword])
      expect(schema.safeParse('correct horse\0').error?.issues[0]?.message).toBe('must not contain NUL');
  });

  it('is not what stands beside it', () => {
    const person = { email: 'ada.lovelace@example.org', name: 'Ada Lovelace King' };
    for (const password of ['Ada.Lovelace@Example.org', 'ada.lovelace', ' ada lovelace king '])
      expect(() => checkPassword('password', password, person)).toThrow(
        'password: must not be your e-mail or your name',
      );
    expect(() => checkPassword('password', 'ada lovelace king!', person)).not.toThrow();
  });
});
