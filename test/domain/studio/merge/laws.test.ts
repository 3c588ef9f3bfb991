import { describe, expect, it } from 'vitest';
import { editFile } from '../../../../src/domain/studio/frontmatter/edit-file.ts';
import { parseFile } from '../../../../src/domain/studio/frontmatter/parse-file.ts';
import { deepEqual } from '../../../../src/domain/studio/frontmatter/values.ts';
import { mergeEntry } from '../../../../src/domain/studio/merge/merge-entry.ts';
import { mergeFrontmatter } from '../../../../src/domain/studio/merge/merge-frontmatter.ts';
import { pointerTo } from '../../../../src/lib/json-pointer.ts';
import { isRecord } from '../../../../src/lib/objects.ts';
import fc from '../../../support/properties.ts';
import { change, frontmatter } from '../frontmatter/generate.ts';
import { file, type SampleFile, saved, unlessRefused } from './files.ts';

const runs = { numRuns: Number(process.env.RUNS ?? 150) };
const twoSaves = file.chain((sample) => fc.tuple(fc.constant(sample), saved(sample), saved(sample)));
const read = (bytes: Buffer, path: string) => {
  const { frontmatter: found, ...rest } = parseFile(bytes, path);
  expect(rest.error).toBeUndefined();
  return { ...rest, frontmatter: found ?? {} };
};

describe('laws of a file', () => {
  it('takes the only change there is, to the byte', () => {
    fc.assert(
      fc.property(twoSaves, ([{ path, bytes: base }, x, y]) => {
        const merged = (current: Buffer, incoming: Buffer) => {
          const result = mergeEntry({ base, current, incoming, path });
          return result.kind === 'clean' ? result.bytes : null;
        };
        for (const side of [x, y]) {
          expect(merged(side, base)).toEqual(side);
          expect(merged(base, side)).toEqual(side);
          expect(merged(side, side)).toEqual(side);
        }
      }),
      runs,
    );
  });

  it('clashes alike whichever side is current', () => {
    const mirrored = (one: { current?: unknown; incoming?: unknown }) => {
      const { current, incoming, ...rest } = one;
      return {
        ...rest,
        ...('incoming' in one && { current: incoming }),
        ...('current' in one && { incoming: current }),
      };
    };
    fc.assert(
      fc.property(twoSaves, fc.boolean(), ([{ path, bytes }, current, incoming], known) => {
        const base = known ? bytes : null;
        const there = mergeEntry({ base, current, incoming, path });
        const back = mergeEntry({ base, current: incoming, incoming: current, path });
        expect(back.kind).toBe(there.kind);
        if (there.kind === 'clean' || back.kind === 'clean') return;
        const byField = (left: object, right: object) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1);
        expect(back.conflict.type).toBe(there.conflict.type);
        expect(back.conflict.fields.map(mirrored).sort(byField)).toEqual([...there.conflict.fields].sort(byField));
        const hunks = ({ conflict }: typeof there) => conflict.hunks.map(({ line, ...hunk }) => hunk);
        if (known) expect(hunks(back).map(mirrored)).toEqual(hunks(there));
      }),
      runs,
    );
  });

  it('writes what it merged, readable, in the manner of current', () => {
    let [clean, refused] = [0, 0];
    fc.assert(
      fc.property(twoSaves, ([{ path, bytes: base }, current, incoming]) => {
        const result = mergeEntry({ base, current, incoming, path });
        if (result.kind === 'conflict') {
          if (result.conflict.reason !== undefined) refused++;
          return;
        }
        clean++;
        const [before, after] = [read(current, path), read(result.bytes ?? Buffer.alloc(0), path)];
        const wanted = mergeFrontmatter(
          read(base, path).frontmatter,
          before.frontmatter,
          read(incoming, path).frontmatter,
        );
        expect(wanted.clashes).toEqual([]);
        expect(after.frontmatter).toEqual(wanted.frontmatter);
        expect(after.format).toBe(before.format);
        expect(after.bom).toBe(before.bom);
        const ends = [base, current, incoming]
          .filter((side) => side.includes('\n'))
          .map((side) => read(side, path).eol);
        if (current.includes('\n') && !ends.includes('mixed')) expect(after.eol).toBe(before.eol);
      }),
      runs,
    );
    expect(clean).toBeGreaterThan(runs.numRuns / 5);
    expect(refused / runs.numRuns).toBeLessThan(0.01);
  });

  it('never calls edits of different keys a conflict', () => {
    let merges = 0;
    const different = file.chain((sample) =>
      fc.tuple(fc.constant(sample), ownKeys(sample, true), ownKeys(sample, false), fc.boolean()),
    );
    fc.assert(
      fc.property(different, ([{ path, bytes: base }, first, second, swap]) => {
        const sides = [first, second].map((wanted) =>
          unlessRefused(() => editFile(base, path, { frontmatter: wanted }).bytes),
        );
        const [current, incoming] = swap ? sides.reverse() : sides;
        if (current === undefined || incoming === undefined) return;
        const result = mergeEntry({ base, current, incoming, path });
        expect(result).toMatchObject({ kind: 'clean' });
        if (result.kind === 'clean')
          expect(read(result.bytes as Buffer, path).frontmatter).toEqual(union(base, first, second, path));
        merges++;
      }),
      runs,
    );
    expect(merges).toBeGreaterThan(runs.numRuns / 2);
  });
});

/** Changes of the keys at even, or at odd, positions only: some set, some removed, and one added. */
function ownKeys({ path, bytes }: SampleFile, even: boolean): fc.Arbitrary<Record<string, unknown>> {
  const was = parseFile(bytes, path).frontmatter ?? {};
  const value = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.array(fc.string({ maxLength: 4 }), { maxLength: 3 }),
  );
  const answers = fc.array(fc.oneof(fc.constant('keep'), fc.constant('remove'), fc.record({ value })), {
    minLength: 6,
    maxLength: 6,
  });
  return fc.tuple(answers, fc.option(value, { nil: undefined })).map(([wanted, added]) => {
    const entries = Object.entries(was).flatMap(([key, old], at): [string, unknown][] => {
      const answer = at % 2 === (even ? 0 : 1) ? (wanted[at % 6] ?? 'keep') : 'keep';
      if (typeof answer === 'object') return [[key, answer.value]];
      return answer === 'keep' ? [[key, old]] : [];
    });
    return Object.fromEntries(
      added === undefined ? entries : [...entries, [even ? 'added-first' : 'added-second', added]],
    );
  });
}

function union(base: Buffer, first: Record<string, unknown>, second: Record<string, unknown>, path: string) {
  const was = parseFile(base, path).frontmatter ?? {};
  const merged: [string, unknown][] = [];
  for (const key of new Set([...Object.keys(was), ...Object.keys(first), ...Object.keys(second)])) {
    const there = [first, second].map((side) => Object.hasOwn(side, key));
    if (Object.hasOwn(was, key) && there.includes(false)) continue;
    const changed = there[0] && !(Object.hasOwn(was, key) && deepEqual(was[key], first[key])) ? first : second;
    merged.push([key, changed[key]]);
  }
  return Object.fromEntries(merged);
}

describe('laws of the fields', () => {
  const threeMaps = frontmatter.chain((base) => fc.tuple(fc.constant(base), change(base), change(base)));

  it('takes the only change there is', () => {
    fc.assert(
      fc.property(threeMaps, ([base, x]) => {
        for (const [current, incoming] of [
          [x, base],
          [base, x],
          [x, x],
        ] as const) {
          const merged = mergeFrontmatter(base, current, incoming);
          expect(merged.clashes).toEqual([]);
          expect(deepEqual(merged.frontmatter, x)).toBe(true);
        }
      }),
      runs,
    );
  });

  it('loses nothing but by a deletion or a reported clash', () => {
    fc.assert(
      fc.property(threeMaps, ([base, current, incoming]) => {
        const merged = mergeFrontmatter(base, current, incoming);
        const clashes = new Set(merged.clashes.map(({ field }) => field));
        survives(base, current, incoming, merged.frontmatter, '', clashes);
      }),
      runs,
    );
  });

  it('without a base passes only what is equal', () => {
    fc.assert(
      fc.property(threeMaps, ([, current, incoming]) => {
        const { clashes, resolved } = mergeFrontmatter(null, current, incoming);
        expect(clashes.length === 0).toBe(deepEqual(current, incoming));
        expect(resolved).toEqual([]);
      }),
      runs,
    );
  });

  type Values = Record<string, unknown>;
  function survives(
    base: Values,
    current: Values,
    incoming: Values,
    merged: Values,
    pointer: string,
    clashes: Set<string>,
  ) {
    const get = (map: Values, key: string) => (Object.hasOwn(map, key) ? map[key] : undefined);
    for (const key of new Set([...Object.keys(current), ...Object.keys(incoming)])) {
      const here = pointerTo(pointer, key);
      if (clashes.has(here)) continue;
      const [b, c, i, m] = [base, current, incoming, merged].map((map) => get(map, key));
      if (deepEqual(b, c)) expect(m).toEqual(i);
      else if (deepEqual(b, i) || deepEqual(c, i)) expect(m).toEqual(c);
      else if (isRecord(c) && isRecord(i)) survives(isRecord(b) ? b : {}, c, i, m as Values, here, clashes);
      else if (Array.isArray(m))
        expect(Array.isArray(c) && Array.isArray(i)).toBe(true); // lists have laws of their own, below
      else expect.unreachable(`${here} was changed on both sides and is neither merged nor reported`);
    }
  }
});

describe('laws of lists', () => {
  const tags = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 1, '1', true, null));
  it('unites sets: all that was added stands, all that was removed is gone', () => {
    fc.assert(
      fc.property(tags, tags, tags, (base, current, incoming) => {
        const { frontmatter: merged, clashes } = mergeFrontmatter(
          { tags: base },
          { tags: current },
          { tags: incoming },
        );
        const everything = new Set([...base, ...current, ...incoming]);
        const wanted = [...everything].filter((tag) =>
          base.includes(tag) ? current.includes(tag) && incoming.includes(tag) : true,
        );
        expect(clashes).toEqual([]);
        expect(new Set(merged.tags as unknown[])).toEqual(new Set(wanted));
        expect(merged.tags).toHaveLength(wanted.length);
      }),
      runs,
    );
  });

  const items = fc.uniqueArray(fc.record({ id: fc.constantFrom('a', 'b', 'c', 'd', 1, '1'), text: fc.nat(2) }), {
    selector: ({ id }) => id,
  });
  it('loses no item but by a deletion or a reported clash, and names clashes alike from both sides', () => {
    fc.assert(
      fc.property(items, items, items, (base, current, incoming) => {
        const there = mergeFrontmatter({ list: base }, { list: current }, { list: incoming });
        const back = mergeFrontmatter({ list: base }, { list: incoming }, { list: current });
        const names = ({ clashes }: typeof there) => clashes.map(({ field }) => field).sort();
        expect(names(back)).toEqual(names(there));
        const merged = there.frontmatter.list as typeof items extends fc.Arbitrary<infer Items> ? Items : never;
        const find = (list: typeof merged, id: unknown) => list.find((item) => item.id === id);
        expect(new Set(merged.map(({ id }) => id)).size).toBe(merged.length);
        for (const { id } of [...current, ...incoming]) {
          const [b, c, i, m] = [base, current, incoming, merged].map((list) => find(list, id));
          if (deepEqual(b, c)) expect(m).toEqual(i);
          else if (deepEqual(b, i) || deepEqual(c, i)) expect(m).toEqual(c);
          else expect(there.open.length).toBeGreaterThan(0);
        }
      }),
      runs,
    );
  });
});
