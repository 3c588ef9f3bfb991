import { describe, expect, it } from 'vitest';
import { newRefNameProblem, RefNames, refNameProblem } from '../../../src/domain/studio/ref-name.ts';
import fc from '../../support/properties.ts';

describe('the name of a new ref', () => {
  it('has at most 32 segments; one that is there may have more', () => {
    const deep = (segments: number) => Array.from({ length: segments }, () => 'a').join('/');
    expect(newRefNameProblem(deep(32))).toBeNull();
    expect(newRefNameProblem(deep(33))).toBe('must be at most 32 segments deep');
    expect(refNameProblem(deep(33))).toBeNull();
  });
});

describe('names of refs', () => {
  const name = fc.array(fc.constantFrom('a', 'A', 'b', 'ä', 'a\u0308'), { minLength: 1, maxLength: 4 });
  const fold = (text: string) => text.normalize('NFC').toLowerCase();
  const isAbove = (one: string, other: string) => fold(other).startsWith(`${fold(one)}/`);

  it('rule out a name that differs in case alone, and one that is a directory of another or in another', () => {
    fc.assert(
      fc.property(fc.array(name, { maxLength: 6 }), name, (there, wanted) => {
        const [names, others] = [new RefNames(), there.map((segments) => segments.join('/'))];
        for (const one of others) names.add(one);
        const added = wanted.join('/');
        // Of those that differ in case alone, the last counts.
        const twin = others.findLast((one) => fold(one) === fold(added));
        const isRuledOut =
          (twin !== undefined && twin !== added) || others.some((one) => isAbove(one, added) || isAbove(added, one));
        expect(names.rivalry(added) !== null).toBe(isRuledOut);
      }),
    );
  });

  it('count the directories that hold them, each once', async () => {
    const names = await RefNames.of(['main', 'a/b/c', 'a/b/d', 'a/e/f', 'g/h']);
    expect(names.directories).toBe(4);
  });
});
