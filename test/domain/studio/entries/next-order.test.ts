import { expect, it } from 'vitest';
import type { KnownEntry } from '../../../../src/domain/studio/entries/entry-query.ts';
import { comesBefore, nextOrder, sortEntries } from '../../../../src/domain/studio/entries/entry-selection.ts';
import fc from '../../../support/properties.ts';

type Content = Map<string, number | null>;
const keys = [{ field: 'x', descending: true }];

/** A list of entries by their names, in order of their paths; those of `before` that say the same are the same objects. */
function listOf(content: Content, before: readonly KnownEntry[] = []): KnownEntry[] {
  return [...content.keys()].sort().map((name) => {
    const x = content.get(name) ?? null;
    const old = before.find(({ entry, facts }) => entry.slug === name && facts.frontmatter?.x === x);
    if (old) return old;
    const entry = { slug: name, path: `${name}.md`, oid: String(x) };
    return { entry, facts: { frontmatter: { x }, title: '', draft: false, size: 0 } };
  });
}

const isShown = ({ facts }: KnownEntry) => facts.frontmatter?.x !== 3;
const ordered = async (list: readonly KnownEntry[]) =>
  (await sortEntries(list.filter(isShown), keys)).map(({ entry }) => entry);

async function next(before: readonly KnownEntry[], after: readonly KnownEntry[]) {
  const byEntry = new Map(after.map((known) => [known.entry, known]));
  const entries = after.map(({ entry }) => entry);
  return nextOrder({ entries: before.map(({ entry }) => entry), ordered: await ordered(before) }, entries, {
    knownAt: (at) => after[at] as KnownEntry,
    isShown,
    knownOf: (entry) => byEntry.get(entry) as KnownEntry,
    comesBefore: (one, other) => comesBefore(one, other, keys),
  });
}

it('is the order as it would be made from all entries', async () => {
  const name = fc.stringMatching(/^[a-f]{1,2}$/);
  const content = fc
    .array(fc.tuple(name, fc.constantFrom(1, 2, 3, null)), { maxLength: 25 })
    .map((all) => new Map(all));
  await fc.assert(
    fc.asyncProperty(content, content, fc.boolean(), async (one, other, keeps) => {
      const before = listOf(one);
      const after = listOf(keeps ? new Map([...one, ...other]) : other, before);
      expect(await next(before, after)).toEqual(await ordered(after));
    }),
    { numRuns: 1000 },
  );
});

it('is not made that way when much has changed', async () => {
  const content = new Map(Array.from({ length: 500 }, (_, at) => [`n${String(at).padStart(3, '0')}`, 1]));
  const before = listOf(content);
  const change = (count: number) =>
    listOf(new Map([...content].map(([name, x], at) => [name, at < count ? 2 : x])), before);
  expect(await next(before, change(100))).toEqual(await ordered(change(100)));
  expect(await next(before, change(101))).toBeNull();
  expect(await next(before, [])).toBeNull();
  expect(await next([], before)).toBeNull();
});
