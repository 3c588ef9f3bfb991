import { describe, expect, it } from 'vitest';
import { draftNames, slugOf } from '../../../src/domain/studio/drafts/drafts.operations.ts';
import { newRefNameProblem, RefNames } from '../../../src/domain/studio/ref-name.ts';
import fc from '../../support/properties.ts';

const firstName = async (taken: string[], actor: string, title: string) =>
  (await draftNames(taken, actor, title).next()).value;

describe('the name of a draft', () => {
  it.each([
    ['user:7', 'First frost', 'draft/7-first-frost'],
    ['token:12', 'Über uns, “neu”', 'draft/token-12-uber-uns-neu'],
    ['workflow:0af3-11', '日本語', 'draft/workflow-0af3-11-changes'],
    ['user:7', `${'a'.repeat(39)} b`, `draft/7-${'a'.repeat(39)}`],
  ])('of %s and %j is %s', async (actor, title, name) => {
    expect(await firstName([], actor, title)).toBe(name);
  });

  it('has a number where it is taken, and another prefix beside a branch called draft', async () => {
    expect(await firstName(['draft/7-x'], 'user:7', 'X')).toBe('draft/7-x-2');
    expect(await firstName(['draft/7-X', 'draft/7-x-2'], 'user:7', 'X')).toBe('draft/7-x-3');
    expect(await firstName(['draft'], 'user:7', 'X')).toBe('portico-draft/7-x');
    expect(await firstName(['Draft', 'portico-draft/7-x'], 'user:7', 'X')).toBe('portico-draft/7-x-2');
    expect(await firstName(['draft/7-x/y'], 'user:7', 'X')).toBe('draft/7-x-2');
  });

  it('is a name that a branch can have, whatever the title', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'binary', maxLength: 80 }),
        fc.subarray(['draft', 'draft/7-a', 'main']),
        async (title, taken) => {
          const name = String(await firstName(taken, 'user:7', title));
          expect(newRefNameProblem(name)).toBeNull();
          expect((await RefNames.of(taken)).rivalry(name)).toBeNull();
          expect(slugOf(title)).toMatch(/^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/);
        },
      ),
    );
  });
});
