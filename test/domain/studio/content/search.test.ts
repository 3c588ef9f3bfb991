import { beforeAll, describe, expect, it } from 'vitest';
import type { ContentIndex } from '../../../../src/domain/studio/content/content-index.ts';
import { containsWords, searchWords } from '../../../../src/domain/studio/content/search.ts';
import { Damage, FactStore } from '../../../../src/domain/studio/content/stored/fact-store.ts';
import { foldText, words } from '../../../../src/domain/studio/frontmatter/words.ts';
import { DomainError } from '../../../../src/kernel/errors.ts';
import type { Repository } from '../../../../src/ports/git.ts';
import type { Snapshot } from '../../../../src/ports/git-records.ts';
import { seed, shared, startTestApp } from '../../../support/app.ts';
import { noContentCache } from '../../../support/no-content-cache.ts';
import fc from '../../../support/properties.ts';
import { collectionAt, counted, newIndex, uncachedIndex } from './reading.ts';

const alphabets = [
  'abcdefgh',
  'àéîõüçñßÅŒ',
  'ёжиЙкΩσς',
  '漢字仮名かなカナｶﾅ한국어',
  'ﷺ㌀ﬁ½²Ⅷ①',
  '🌍👩‍👩‍👧𝔘𝟘𠮷',
  `"'\\&|!:*<>()-_.,;/%?#@`,
  ' \t\n\u00a0\u2028\u0000',
  '0123456789',
  'İıŉ\u0301\u0308\u200d\ufeff',
];
const character = fc.constantFrom(...alphabets).chain((alphabet) => fc.constantFrom(...alphabet));
const word = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: character, minLength: 1, maxLength: 6 }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      'Élan',
      'elan',
      'ELANS',
      '日本語',
      '天気',
      'STRASSE',
      'straße',
      "d'été",
      'naïve',
      'the',
      '#1',
      'a:*',
    ),
  },
  { weight: 1, arbitrary: fc.tuple(character, fc.integer({ min: 250, max: 260 })).map(([c, n]) => c.repeat(n)) },
);
const text = fc.array(word, { maxLength: 12 }).map((words) => words.join(' '));
const entry = fc
  .tuple(text, fc.array(text, { maxLength: 2 }), text)
  .map(([title, tags, body]) => `${JSON.stringify({ title, tags, count: title.length })}\n${body}`);

const texts = fc.sample(entry, { numRuns: 150, seed: 7 });
const known = texts.join(' ').split(/[\s",{}[\]]+/);
/** Words that are there, and beginnings of them, among some that are not. */
const query = fc
  .array(
    fc.oneof(
      fc.constantFrom(...known),
      fc.constantFrom(...known).map((one) => one.slice(0, 2)),
      word,
    ),
    { maxLength: 3 },
  )
  .map((words) => words.join(' ').slice(0, 500));

const app = shared(startTestApp);
let git: Repository;
const slugs = async (content: ContentIndex, at: Repository, q: string, name = 'posts') => {
  const { index } = await collectionAt(content, at, name);
  return [...(await content.search(at, index.entries, searchWords(q)))].map(({ slug }) => slug).sort();
};

beforeAll(async () => {
  await seed(app, Object.fromEntries(texts.map((content, at) => [`content/posts/${at}.md`, content])));
  git = await app.repository();
  await app.services.studio.moves.settled();
  await app.services.studio.content.settled();
});

describe('the table and the files give the same answer', () => {
  it('for whatever stands in texts and queries', async () => {
    const stored = newIndex(app);
    const plain = uncachedIndex();
    const watched = counted(git);
    await collectionAt(stored, watched.git, 'posts');
    watched.count.blobs = 0;
    let hits = 0;
    await fc.assert(
      fc.asyncProperty(query, async (q) => {
        const found = await slugs(stored, watched.git, q);
        expect(found).toEqual(await slugs(plain, git, q));
        hits += found.length;
      }),
      { numRuns: 50, seed: 11 },
    );
    expect(hits).toBeGreaterThan(30);
    expect(watched.count.blobs).toBe(0);
  });

  it('while half of the files are not stored yet, and of deleted ones none', async () => {
    const stored = newIndex(app);
    await slugs(stored, git, 'the');
    await seed(app, { 'content/posts/new.md': 'The freshest élan.\n', 'content/posts/1.md': 'Rewritten élan.\n' });
    await git.write({
      branch: 'main',
      author: { name: 'A', email: 'a@example.org' },
      plan: async () => ({ changes: [{ path: 'content/posts/2.md', content: null }], message: 'Delete', result: null }),
    });
    for (const q of ['elan', 'freshest', 'rewr', texts[1]?.slice(0, 400) ?? '', texts[2]?.slice(0, 400) ?? '']) {
      expect(await slugs(stored, git, q)).toEqual(await slugs(uncachedIndex(), git, q));
    }
    expect(await slugs(stored, git, 'rewritten')).toEqual(['1']);
  });

  it('on every branch', async () => {
    const stored = newIndex(app);
    await git.createBranch('topic', (await git.head('main')) ?? '');
    await git.write({
      branch: 'topic',
      author: { name: 'A', email: 'a@example.org' },
      plan: async () => ({
        changes: [{ path: 'content/posts/3.md', content: Buffer.from('Topical zzz\n') }],
        message: 'Change',
        result: null,
      }),
    });
    const on = async (branch: string) => {
      const snapshot = await git.snapshot(await git.head(branch));
      const { entries } = (await stored.site(git, snapshot)).collection('posts');
      return [...(await stored.search(git, entries, searchWords('topical')))].map(({ slug }) => slug);
    };
    expect([await on('main'), await on('topic')]).toEqual([[], ['3']]);
    await stored.settled();
    expect([await on('main'), await on('topic')]).toEqual([[], ['3']]);
  });
});

describe('words', () => {
  it.each([
    ['明日の天気は晴れです', ['天気', '明日', '晴れ', 'の', '天', '明日の天気'], ['気天', '雨', '日天']],
    ['日本語の検索エンジンを作る', ['日本語', '検索', 'エンジン', 'ｴﾝｼﾞﾝ', '検索 日本', '作'], ['本日', '検索 雨']],
    ['東京tower 2024年', ['東京tow', '東京 tower', '2024年', '京', 'tower'], ['京tokyo', '年2024x']],
    ['Die Straße, ﬁne œuvre, ΟΔΟΣ', ['strasse', 'STRASSE', 'straße', 'fine', 'οδος', 'ΟΔΟΣ', 'œuvre'], ['strase']],
  ])('of %s are found as people write them', (body, found, missed) => {
    const held = words(body);
    for (const q of found) expect([q, containsWords(held, searchWords(q))]).toEqual([q, true]);
    for (const q of missed) expect([q, containsWords(held, searchWords(q))]).toEqual([q, false]);
  });

  it.each(['%', '😀', '!()', ' \u0301 '])('a query without any finds nothing: %s', async (q) => {
    expect(await slugs(newIndex(app), git, q)).toEqual([]);
    expect(await slugs(uncachedIndex(), git, q)).toEqual([]);
  });
});

describe('long texts', () => {
  /** Characters that fold to five and four letters: more than 1 MB of words out of 256 KiB. */
  const folding = (count: number) => {
    const wide = ['㉼', '㉽'];
    expect(wide.map((one) => foldText(one).length)).toEqual([5, 4]);
    const mixed = (value: number) => Math.imul(value ^ (value >>> 15), 0x85ebca6b);
    const at = (index: number) => wide[mixed(mixed(Math.imul(index + 1, 0x9e3779b1))) >>> 31];
    return Array.from({ length: count }, (_, index) => at(index)).join('');
  };
  const long = {
    'at the limit': `start ${'x'.repeat(255)} ${'y'.repeat(256)} end\n`,
    'of many words': `${Array.from({ length: 60_000 }, (_, at) => `w${at.toString(36)}`).join(' ')} last\n`,
    'that grow when folded': `${folding(85_000)} last\n`,
    'over 256 KiB': `${'lorem '.repeat(50_000)}beyond\n`,
  };

  it('are cut where a row could not hold their words', () => {
    const sizes = Object.values(long).map((content) => Buffer.byteLength(words(content).join('')));
    expect(sizes.every((size) => size <= 1_000_000)).toBe(true);
    expect(words(long['that grow when folded'])).not.toContain('last');
    expect(sizes[2]).toBeGreaterThan(999_000);
  });

  it.each(Object.entries(long))('%s are searched alike', async (name, content) => {
    const slug = name.replaceAll(' ', '-');
    await seed(app, { [`content/long/${slug}.md`]: content });
    const stored = newIndex(app);
    const { index } = await collectionAt(stored, git, 'long');
    await stored.settled();
    const watched = counted(git);
    const again = newIndex(app);
    await collectionAt(again, watched.git, 'long');
    watched.count.blobs = 0;
    const queries = [
      'start',
      'end',
      'last',
      'beyond',
      'lorem',
      'w1',
      'wzz',
      `${'x'.repeat(255)}`,
      'x'.repeat(256),
      'y'.repeat(255),
    ];
    for (const q of [
      ...queries,
      'y'.repeat(256),
      'y'.repeat(300),
      '㌀',
      content.slice(0, 400),
      content.slice(90_000, 90_400),
    ]) {
      expect(await slugs(again, watched.git, q, 'long'), q.slice(0, 20)).toEqual(
        await slugs(uncachedIndex(), git, q, 'long'),
      );
    }
    expect(watched.count.blobs).toBe(0);
    expect(index.entries.some((one) => one.slug === slug)).toBe(true);
  });
});

describe('files that are too large to be read', () => {
  const large = (oid: string) => /^[5-9]/.test(oid);
  const read = (oid: string) => {
    if (large(oid)) throw new DomainError('too_large', `The blob ${oid} is larger than 100 MiB`);
    return { oid, content: Buffer.from(`---\ntitle: ${oid}\n---\n`) };
  };
  const snapshot = {
    async *blobs(oids: readonly string[]) {
      for (const oid of oids) yield read(oid);
    },
    blob: async (oid: string) => read(oid).content,
  } as Partial<Snapshot> as Snapshot;
  const files = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ path: `${at}.md`, oid: String(count - at) }));

  it('are listed with the reason however many they are, and are no damage', async () => {
    const damage = new Damage();
    const facts = new FactStore(noContentCache, damage);
    const listed = await facts.listed({ id: 'site' } as Repository, snapshot, files(100));
    expect(listed).toHaveLength(100);
    for (const [at, { oid }] of files(100).entries()) {
      const error = {
        code: 'unreadable',
        message: 'the file is larger than 100 MiB; delete it, or push a smaller one',
      };
      expect(listed[at]).toMatchObject(large(oid) ? { frontmatter: null, error } : { title: oid });
    }
    expect(damage.met('site')).toBe(0);
    const [first] = files(9);
    await expect(facts.of({ id: 'site' } as Repository, snapshot, first ? [first] : [])).rejects.toMatchObject({
      code: 'too_large',
    });
  });
});
