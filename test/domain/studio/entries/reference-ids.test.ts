import { describe, expect, it } from 'vitest';
import { namesEntries, referenceIds } from '../../../../src/domain/studio/entries/references.ts';

const astro = { path: 'src/people', source: { kind: 'astro', path: 'x' } } as const;

describe('referenceIds', () => {
  it('begins with the id of Astro where Astro reads the files', () => {
    expect(referenceIds(astro, { slug: 'Team/Ann B. Öz', path: 'src/people/Team/Ann B. Öz/index.md' })).toEqual([
      'team/ann-b-öz',
      'Team/Ann B. Öz',
      'Team/Ann B. Öz/index',
      'src/people/Team/Ann B. Öz/index.md',
    ]);
  });

  it('begins with the slug elsewhere', () => {
    const tina = { path: '', source: { kind: 'tina', path: 'x' } } as const;
    expect(referenceIds(tina, { slug: 'a', path: 'a.md' })).toEqual(['a', 'a', 'a.md', 'a']);
  });

  it('recognises which collections cannot be queried', () => {
    expect(namesEntries(undefined)).toBe(false);
    expect(namesEntries({ items_in_file: true, warnings: [] })).toBe(false);
    expect(namesEntries({ items_in_file: false, warnings: [{ code: 'loader_unknown', message: '' }] })).toBe(false);
    expect(namesEntries({ items_in_file: false, warnings: [] })).toBe(true);
  });
});
