import { expect, it } from 'vitest';
import { firstRelations, referencesTo, visitReferences } from '../../../../src/domain/studio/entries/references.ts';
import type { SchemaField } from '../../../../src/domain/studio/schema/schema.schema.ts';
import { iterationsDuring } from '../../../support/loop-iterations.ts';

const fields: SchemaField[] = [
  {
    name: 'related',
    type: 'reference',
    required: false,
    list: true,
    relation: { collection: 'posts', multiple: true },
  },
  { name: 'main', type: 'reference', required: true, list: false, relation: { collection: 'posts', multiple: false } },
];
const frontmatter = { related: Array.from({ length: 100_000 }, () => 'a'), main: 'a' };

/** Two entries that name `a` 100,001 times each. */
function site() {
  const entries = ['b', 'c'].map((slug) => ({ slug, path: `posts/${slug}.md`, oid: slug }));
  const collections = new Map([['posts', { schema: { collection: 'posts', fields }, entries }]]);
  async function* eachFacts() {
    for (const _ of entries) yield { frontmatter };
  }
  const context = { git: {}, studio: { content: { eachFacts } } };
  return [context, { tree: {}, site: { collections } }] as unknown as [
    Parameters<typeof referencesTo>[0],
    Parameters<typeof referencesTo>[1],
  ];
}

const target = [{ collection: 'posts', ids: new Set(['a']) }];

it('finds the first 100 references of one entry to another', async () => {
  const found = await referencesTo(...site(), target);
  expect(found).toHaveLength(200);
  expect(found[99]).toMatchObject({ slug: 'b', field: '/related/99' });
  expect(found[100]).toMatchObject({ slug: 'c', field: '/related/0' });
});

it('visits all of them in steps', async () => {
  const fields = new Map<string, number>();
  const visits = visitReferences.bind(null, ...site(), target, ({ slug, field }) => {
    const name = `${slug}${field.replace(/\/\d+$/, '')}`;
    fields.set(name, (fields.get(name) ?? 0) + 1);
  });
  expect(await iterationsDuring(visits)).toBeGreaterThan(1_000);
  expect([...fields]).toEqual([
    ['b/related', 100_000],
    ['b/main', 1],
    ['c/related', 100_000],
    ['c/main', 1],
  ]);
});

it('finds those that count behind any number of others', async () => {
  const found = await referencesTo(...site(), target, { counts: ({ required }) => required });
  expect(found.map(({ slug, field }) => `${slug}${field}`)).toEqual(['b/main', 'c/main']);
});

it('lists the first relations of an entry', async () => {
  expect(await firstRelations(fields, frontmatter, 500)).toHaveLength(500);
  expect(await firstRelations(fields, { main: 'x' }, 500)).toHaveLength(1);
});

const kindsOf = (within: SchemaField[]): SchemaField[] => [
  {
    ...{ name: 'blocks', type: 'object', required: false, list: true },
    variants: Array.from({ length: 1_000 }, () => ({
      ...{ name: '', type: 'object', required: false, list: false },
      fields: within,
    })),
  },
];
const blocks = Array.from({ length: 100 }, () => ({ main: 'a' }));

it('goes through the kinds of an item in steps, and not at all through those that hold no relation', async () => {
  let found: unknown;
  const look = (fields: SchemaField[]) => async () => {
    found = await firstRelations(fields, { blocks }, 500);
  };
  expect(await iterationsDuring(look(kindsOf(fields)))).toBeGreaterThan(1_000);
  expect(found).toHaveLength(100);
  expect(await iterationsDuring(look(kindsOf([])))).toBeLessThan(10);
  expect(found).toHaveLength(0);
});
