import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DomainError } from '../../kernel/errors.ts';
import { displayName, timestamp } from '../../kernel/shapes.ts';
import { User } from './user.entity.ts';

/** An e-mail address as browsers take it (HTML, "valid e-mail address"); accounts are found by it in lower case. */
export const email = z
  .string()
  .trim()
  .toLowerCase()
  .max(254, 'must be at most 254 characters')
  .regex(/^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$/, 'must be an e-mail address');

export const personName = displayName.max(100, 'must be at most 100 characters');

export const user = z
  .object({
    id: z.int32(),
    name: z.string(),
    email: z.string(),
    instance_admin: z.boolean(),
    created_at: timestamp,
    disabled_at: timestamp.nullable(),
  })
  .meta({ id: 'User' });

/** The answer of commands that sign a browser in. */
export const signedIn = z.object({ user }).meta({ id: 'SignedIn' });

/** The public fields of a row. */
export const presentUser = ({ id, name, email, instance_admin, created_at, disabled_at }: User) => ({
  id,
  name,
  email,
  instance_admin,
  created_at,
  disabled_at: disabled_at ?? null,
});

/** @throws DomainError `not_found` */
export async function findUser(em: EntityManager, id: number): Promise<User> {
  const row = await em.findOne(User, { id });
  if (!row) throw new DomainError('not_found', 'User not found');
  return row;
}
