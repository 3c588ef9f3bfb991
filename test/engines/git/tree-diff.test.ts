import { describe, expect, it } from 'vitest';
import type { TreeFile } from '../../../src/ports/git-records.ts';
import { save, testStore } from '../../support/git-store.ts';
import fc from '../../support/properties.ts';

const segment = fc.constantFrom('a', 'b', 'a.md', 'a-b', 'c');
const path = fc.array(segment, { minLength: 1, maxLength: 3 }).map((segments) => segments.join('/'));
const step = fc.dictionary(path, fc.option(fc.constantFrom('1', '2')), { maxKeys: 5 });

const isTree = (held: ReadonlyMap<string, string>) =>
  ![...held.keys()].some((one) => [...held.keys()].some((other) => other.startsWith(`${one}/`)));

/** The same found by comparing the whole listings. */
function compared(before: readonly TreeFile[], after: readonly TreeFile[]) {
  const sides = (files: readonly TreeFile[]) => new Map(files.map((file) => [file.path, file.oid]));
  const [old, now] = [sides(before), sides(after)];
  const paths = [...new Set([...old.keys(), ...now.keys()])].sort();
  return paths.flatMap((at) => (old.get(at) === now.get(at) ? [] : [[at, old.get(at) ?? null, now.get(at) ?? null]]));
}

describe('the changes since another tree', () => {
  it('are what the listings of both trees differ by', async () => {
    const { store } = testStore();
    let made = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 3 }), async (steps) => {
        const repository = await store.create(`site-${made++}`, 'main');
        const held = new Map<string, string>();
        let before = await repository.snapshot(null);
        for (const changes of steps) {
          const wanted = new Map(held);
          for (const [at, content] of Object.entries(changes)) {
            if (content === null) wanted.delete(at);
            else wanted.set(at, content);
          }
          fc.pre(isTree(wanted));
          const gone = [...held.keys()].filter((at) => !wanted.has(at)).map((at) => [at, null] as const);
          await save(repository, Object.fromEntries([...gone, ...wanted]));
          held.clear();
          for (const [at, content] of wanted) held.set(at, content);
          const after = await repository.snapshot(await repository.head('main'));
          const found = (await after.changesSince(before.tree, 1_000)) ?? [];
          const shown = found.map((change) => [change.path, change.before?.oid ?? null, change.after?.oid ?? null]);
          const wantedChanges = compared(await before.files(), await after.files());
          expect(shown.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))).toEqual(wantedChanges);
          before = after;
        }
      }),
      { numRuns: 12 },
    );
    await store.close();
  });

  it('are null beyond the limit', async () => {
    const { store } = testStore();
    const repository = await store.create('site', 'main');
    await save(repository, { 'a/one.md': '1', 'a/two.md': '2' });
    const snapshot = await repository.snapshot(await repository.head('main'));
    expect(await snapshot.changesSince(null, 2)).toBeNull();
    expect((await snapshot.changesSince(null, 3))?.map((change) => change.path)).toEqual(['a/one.md', 'a/two.md']);
    expect(await snapshot.changesSince(snapshot.tree, 0)).toEqual([]);
    await store.close();
  });
});
