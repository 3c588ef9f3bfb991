import { describe, expect, it } from 'vitest';
import { parseTopic } from '../../../../src/domain/studio/watch/topics.ts';
import fc from '../../../support/properties.ts';

const part = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 });

describe('parseTopic', () => {
  it('reads an entry whatever its branch, collection and slug hold', () => {
    fc.assert(
      fc.property(part, part, part, (branch, collection, slug) => {
        const text = `entry:${[branch, collection, slug].map(encodeURIComponent).join('/')}`;
        expect(parseTopic(text)).toEqual({ kind: 'entry', branch, collection, slug });
      }),
    );
  });

  it('reads a branch to the letter', () => {
    fc.assert(
      fc.property(part, (branch) => {
        expect(parseTopic(`branch:${branch}`)).toEqual({ kind: 'branch', branch });
      }),
    );
  });

  it('takes the slashes of a slug as they are', () => {
    const found = { kind: 'entry', branch: 'a/b', collection: 'posts', slug: '2026/first' };
    expect(parseTopic('entry:a%2Fb/posts/2026/first')).toEqual(found);
  });
});
