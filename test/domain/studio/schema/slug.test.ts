import { describe, expect, it } from 'vitest';
import { assignSlugs, pathForSlug, type SlugCollection } from '../../../../src/domain/studio/slug.ts';
import fc from '../../../support/properties.ts';

const collection = (more: Partial<SlugCollection['slugs']> = {}, path = 'posts'): SlugCollection => ({
  collection: 'posts',
  path,
  slugs: { extensions: ['md', 'mdx', 'markdown'], index_names: ['index', '_index'], locales: null, ...more },
  matches: (file) => (path === '' || file.startsWith(`${path}/`)) && /\.(md|mdx|markdown)$/.test(file),
});
const locales = { codes: ['en', 'fr'], default: 'en', placement: 'directory', default_unmarked: true } as const;
const slugs = (paths: string[], of = collection()) =>
  Object.fromEntries(assignSlugs(of, paths).entries.map(({ path, slug }) => [path, slug]));

describe('path to slug', () => {
  it('folds an index into its directory', () => {
    expect(slugs(['posts/a.md', 'posts/b/index.md', 'posts/c/_index.md', 'posts/index.md', 'posts/d/e.mdx'])).toEqual({
      'posts/a.md': 'a',
      'posts/b/index.md': 'b',
      'posts/c/_index.md': 'c',
      'posts/index.md': 'index',
      'posts/d/e.mdx': 'd/e',
    });
  });

  it('keeps the index when the directory has a file of its name', () => {
    const { entries, warnings } = assignSlugs(collection(), ['posts/a/index.md', 'posts/a.md']);
    expect(entries.map((entry) => entry.slug)).toEqual(['a/index', 'a']);
    expect(warnings).toMatchObject([{ code: 'slug_collision', path: 'posts/a/index.md' }]);
  });

  it('keeps the extension of the less preferred file', () => {
    expect(slugs(['posts/a.markdown', 'posts/a.mdx', 'posts/a.md'])).toEqual({
      'posts/a.markdown': 'a.markdown',
      'posts/a.mdx': 'a.mdx',
      'posts/a.md': 'a',
    });
  });

  it('recognises the language by directory or suffix and leaves the slug alone', () => {
    const { entries } = assignSlugs(collection({ locales }), [
      'posts/fr/a.md',
      'posts/b.fr.md',
      'posts/c.md',
      'posts/fr/index.md',
      'posts/v1.js.md',
    ]);
    expect(entries.map(({ slug, locale, translation_key }) => [slug, locale, translation_key])).toEqual([
      ['fr/a', 'fr', 'a'],
      ['b.fr', 'fr', 'b'],
      ['c', 'en', 'c'],
      ['fr', 'fr', 'index'],
      ['v1.js', 'en', 'v1.js'],
    ]);
  });
});

describe('slug to path', () => {
  it('takes the preferred extension, or the requested one', () => {
    expect(pathForSlug(collection(), 'a/b')).toBe('posts/a/b.md');
    expect(pathForSlug(collection(), 'a', { format: 'mdx' })).toBe('posts/a.mdx');
    expect(pathForSlug(collection(), 'a', { format: 'toml' })).toBe('posts/a.md');
    expect(pathForSlug(collection({}, ''), 'a')).toBe('a.md');
  });

  it('obeys the pattern of the collection', () => {
    const bundles = { ...collection(), matches: (path: string) => /^posts\/[^/]+\/index\.md$/.test(path) };
    expect(pathForSlug(bundles, 'a')).toBe('posts/a/index.md');
    expect(() => pathForSlug(bundles, 'a/b')).toThrow('no place');
    expect(() => pathForSlug(collection(), 'a', { path: 'elsewhere/a.md' })).toThrow('not a path');
    expect(pathForSlug(collection(), 'a', { path: 'posts/x.mdx' })).toBe('posts/x.mdx');
  });

  it('marks the language', () => {
    expect(pathForSlug(collection({ locales }), 'a', { locale: 'fr' })).toBe('posts/fr/a.md');
    expect(pathForSlug(collection({ locales }), 'fr/a', { locale: 'fr' })).toBe('posts/fr/a.md');
    expect(pathForSlug(collection({ locales }), 'a', { locale: 'en' })).toBe('posts/a.md');
    expect(pathForSlug(collection({ locales: { ...locales, placement: 'suffix' } }), 'a', { locale: 'fr' })).toBe(
      'posts/a.fr.md',
    );
    expect(() => pathForSlug(collection({ locales }), 'a', { locale: 'xx' })).toThrow('no locale');
  });
});

const segment = fc.constantFrom('a', 'b', 'index', '_index', 'fr', 'a.md', 'index.md', 'a.fr', 'é');
const stem = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));
const file = fc
  .tuple(stem, fc.constantFrom('md', 'mdx', 'markdown', 'MD'))
  .map(([text, end]) => `posts/${text}.${end}`);
/** Paths of a real tree: no file is also a directory. */
const tree = fc
  .uniqueArray(file, { maxLength: 30 })
  .map((paths) => paths.filter((path) => !paths.some((other) => other.startsWith(`${path}/`))));

describe('the mapping', () => {
  it('is one to one, whatever the names, and does not depend on the order', () => {
    fc.assert(
      fc.property(tree, fc.boolean(), (paths, localised) => {
        const of = collection(localised ? { locales } : {});
        const forward = assignSlugs(of, paths).entries;
        expect(new Set(forward.map((entry) => entry.slug)).size).toBe(paths.length);
        const backward = assignSlugs(of, paths.toReversed()).entries.toReversed();
        expect(backward).toEqual(forward);
        expect(forward.map((entry) => entry.path)).toEqual(paths);
      }),
      { numRuns: 2000 },
    );
  });

  it('gives a created file the slug it was created with', () => {
    fc.assert(
      fc.property(
        stem.filter((text) => !/(^|\/)_?index$/.test(text) || text === 'index'),
        (slug) => {
          const path = pathForSlug(collection(), slug);
          expect(assignSlugs(collection(), [path]).entries).toEqual([{ slug, path }]);
        },
      ),
    );
  });
});
