import { PostgreSqlPlatform } from '@mikro-orm/postgresql';
import { expect, it } from 'vitest';
import { quoteLiteral } from '../../../src/db/mapper-patches.ts';
import { openOrm } from '../../../src/db/orm.ts';
import fc from '../../support/properties.ts';

const platform = new PostgreSqlPlatform();
const hard = fc.string({ unit: fc.constantFrom("'", '\\', '"', '?', '$', '$&', '\n', 'a', 'é', '😀') });

it('writes every text as the mapper does', () => {
  fc.assert(
    fc.property(fc.oneof(hard, fc.string({ unit: 'binary' })), (text) => {
      expect(quoteLiteral(text)).toBe(platform.escape(text));
    }),
  );
});

it('is what statements are written with', async () => {
  const orm = openOrm('postgres://localhost/none', 1);
  expect(orm.em.fork().getPlatform()).toHaveProperty('escapeLiteral', quoteLiteral);
  await orm.close();
});
