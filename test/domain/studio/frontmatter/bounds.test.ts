import { describe, expect, it, vi } from 'vitest';
import { Parser } from 'yaml';
import type { CollectionIndex } from '../../../../src/domain/studio/content/collection-index.ts';
import { entryOf } from '../../../../src/domain/studio/entries/saved-entry.ts';
import { checkWritable, createFile, editFile } from '../../../../src/domain/studio/frontmatter/edit-file.ts';
import { parseFile } from '../../../../src/domain/studio/frontmatter/parse-file.ts';
import { limits } from '../../../../src/domain/studio/frontmatter/values.ts';
import type { DomainError } from '../../../../src/kernel/errors.ts';
import fc from '../../../support/properties.ts';

const file = (source: string) => Buffer.from(`---\n${source}\n---\n`);
const kibibytes = 256 * 1024;

describe('a file of millions of lines', () => {
  const lines = 5_000_000;

  it.each([
    ['blank ones', '\n'.repeat(lines), {}],
    ['blank ones before its block', `${'\n'.repeat(lines)}---\na: 1\n---\n`, { a: 1 }],
    ['comments before its first key', `\n---\n${'#\n'.repeat(lines)}a: 1\n---\n`, null],
  ])('is read with %s', (_what, text, frontmatter) => {
    expect(parseFile(Buffer.from(text), 'a.md').frontmatter).toEqual(frontmatter);
  });
});

it('JSON with many numbers that JavaScript cannot hold is read in steps that grow with their count', () => {
  const count = 1_000;
  const file = Buffer.from(`{"a":[${Array(count).fill('1e999').join()}]}`);
  const iterator = Object.getPrototypeOf([].values());
  const { next } = iterator;
  let steps = 0;
  iterator.next = function counted(this: unknown) {
    steps += 1;
    return next.call(this);
  };
  const { frontmatter, lossy } = parseFile(file, 'a.json');
  iterator.next = next;
  expect(frontmatter).toEqual({ a: Array(count).fill('1e999') });
  expect(lossy).toHaveLength(count);
  expect(steps).toBeLessThan(20 * count);
});

it.each([
  ['a.json', (key: string, numbers: string) => `{"${key}": [${numbers}]}`, '1e999'],
  ['a.toml', (key: string, numbers: string) => `${key} = [${numbers}]`, 'inf'],
  ['a.yaml', (key: string, numbers: string) => `? ${key}\n: [${numbers}]`, '.inf'],
  ['a.yaml', (key: string, numbers: string) => `a: &a [${numbers}]\n? ${key}\n: [*a]`, '.inf'],
])(
  'numbers that JavaScript cannot hold are an error where their pointers would be a megabyte: %s',
  (path, source, number) => {
    const read = (count: number) =>
      parseFile(Buffer.from(source('k'.repeat(100_000), Array(count).fill(number).join(', '))), path);
    expect(read(10).lossy.length).toBeGreaterThanOrEqual(10);
    expect(read(11)).toMatchObject({
      frontmatter: null,
      lossy: [],
      error: { message: 'too many numbers are larger than JavaScript can hold; put them in quotes' },
    });
  },
);

it('an entry shows the pointers of its first thousand numbers that JavaScript cannot hold, and none that are long', () => {
  const shown = (source: string) => {
    const bytes = Buffer.from(source);
    const index = { schema: { collection: 'c' } } as CollectionIndex;
    return entryOf(index, { slug: 'a', path: 'a.json', oid: '' }, { bytes, parsed: parseFile(bytes, 'a.json') }).lossy;
  };
  expect(shown(`{"a":[${Array(5_000).fill('1e999').join()}]}`)).toHaveLength(1_000);
  expect(shown(`{"${'k'.repeat(100_000)}":[1e999, 1e999]}`)).toEqual([]);
});

describe('a block of YAML that is not simple', () => {
  const flow = (commas: number) => file(`a: [${'0,'.repeat(commas)}0]`);

  it('is read with 12,000 lines, dashes, commas and brackets, and has an error with one more', () => {
    // The bracket and the end of the line count, too.
    const most = limits.yamlSigns - 2;
    expect(parseFile(flow(most), 'a.md').frontmatter?.a).toHaveLength(most + 1);
    expect(parseFile(flow(most + 1), 'a.md')).toMatchObject({
      frontmatter: null,
      error: { message: 'more than 12000 lines, dashes, commas and brackets' },
    });
  });

  it.each([
    ['brackets', `a: ${'['.repeat(200_000)}`],
    ['empty lists', `a: [${'[],'.repeat(80_000)}]`],
    ['anchors and keys without values', 'a: &a [*a]\n? b\n'.repeat(15_000)],
  ])('has an error when it is full of %s', (_what, source) => {
    expect(parseFile(file(source), 'a.md')).toMatchObject({ frontmatter: null, error: { code: expect.any(String) } });
  });
});

describe('aliases of YAML', () => {
  const repeated = (times: number, anchor: string) => file(`a: &a ${anchor}\nb: [${'*a,'.repeat(times)}]`);
  const error = 'the aliases repeat too much text; write less of it at their anchors';

  it.each([
    ['a long text', 99, 'x'.repeat(200_000)],
    ['many short values', 99, `[${'0,'.repeat(5_000)}0]`],
    ['long keys', 99, `{${'k'.repeat(200_000)}: 0}`],
    ['a text of a short block', 99, 'x'.repeat(6_000)],
  ])('are an error where they repeat more than the block could hold: %s', (_what, times, anchor) => {
    expect(parseFile(repeated(times, anchor), 'a.md')).toMatchObject({ frontmatter: null, error: { message: error } });
  });

  it('are an error where aliases of aliases, or merged ones, repeat as much', () => {
    const text = 'x'.repeat(120_000);
    const nested = file(`a: &a [${text}]\nb: &b [*a, *a, *a]\nc: [*b, *b]`);
    const merged = file(`a: &a {x: ${text}}\nb: [${'{<<: *a},'.repeat(5)}]`);
    for (const source of [nested, merged])
      expect(parseFile(source, 'a.md')).toMatchObject({ frontmatter: null, error: { message: error } });
  });

  it('repeat what people write, and a text of some length a few times', () => {
    const fields = Array.from({ length: 20 }, (_, at) => `name_${at}: Some text of it`).join(', ');
    expect(parseFile(repeated(99, `{${fields}}`), 'a.md').frontmatter?.b).toHaveLength(99);
    const long = Array.from({ length: 20 }, (_, at) => `name_${at}: ${'text '.repeat(12)}`).join(', ');
    const merging = file(`a: &a {${long}}\nb: [${'{<<: *a},'.repeat(80)}]`);
    expect(parseFile(merging, 'a.md').frontmatter?.b).toHaveLength(80);
    expect(parseFile(repeated(4, 'x'.repeat(200_000)), 'a.md').frontmatter?.b).toHaveLength(4);
  });
});

it('an error names no more of a key than is read', () => {
  const key = 'k'.repeat(100_000);
  const { error } = parseFile(Buffer.from(`{"${key}":1,"${key}":2}`), 'a.json');
  expect(error?.message).toMatch(/^the key k{292}…$/);
});

describe('a block that is edited by fields', () => {
  const edit = (path: string, source: string) => {
    const bytes = Buffer.from(source);
    const frontmatter = { ...parseFile(bytes, path).frontmatter, z: 'new' };
    return () => parseFile(editFile(bytes, path, { frontmatter }).bytes, path).frontmatter?.z;
  };

  it.each([
    ['simple YAML', 'a.yaml', limits.editedSigns, (signs: number) => `a:\n${'- b\n'.repeat((signs - 2) / 2)}c: d\n`],
    ['other YAML', 'a.yaml', limits.editedYamlSigns, (signs: number) => `a: [${'0,'.repeat(signs - 2)}0]\n`],
    ['JSON', 'a.json', limits.editedSigns, (signs: number) => `{"a":[${'0,'.repeat(signs - 3)}0]}\n`],
    ['TOML', 'a.toml', limits.editedSigns, (signs: number) => `a=[${'0,\n'.repeat((signs - 2) / 2)}0]\n`],
  ])('is refused when it has too many lines, dashes, commas and brackets: %s', (_what, path, most, source) => {
    expect(edit(path, source(most))()).toBe('new');
    expect(edit(path, `${source(most)}\n`)).toThrow(
      `frontmatter: has more than ${most} lines, dashes, commas and brackets, too many to be edited by fields; write`,
    );
  });

  it('takes another body whatever its size', () => {
    const bytes = file(`a: [${'0,'.repeat(limits.editedYamlSigns)}0]`);
    expect(editFile(bytes, 'a.md', { body: 'b' }).parsed.body).toBe('b');
  });
});

describe('a block nested 100,000 levels deep', () => {
  it.each([
    ['YAML, lists in blocks', 'a.yaml', '- '.repeat(10_000)],
    ['YAML, brackets', 'a.yaml', `a: ${'['.repeat(10_000)}${']'.repeat(10_000)}`],
    ['TOML, lists', 'a.toml', `a = ${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    ['TOML, tables', 'a.toml', `[a${'.a'.repeat(100_000)}]`],
    ['JSON', 'a.json', `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
  ])('has an error of its own and is read no further: %s', (_what, path, source) => {
    const next = vi.spyOn(Parser.prototype, 'next');
    expect(parseFile(Buffer.from(source), path)).toMatchObject({
      frontmatter: null,
      error: { code: 'frontmatter_invalid', message: expect.stringMatching(/nested/) },
    });
    expect(next.mock.calls.length).toBeLessThan(1_000);
    next.mockRestore();
  });
});

describe('checkWritable', () => {
  it('refuses values that cannot fit into 256 KiB before a text is made of them', () => {
    const text = (size: number) => ({ t: 'x'.repeat(size) });
    expect(() => checkWritable(text(kibibytes - 2), 'yaml')).not.toThrow();
    expect(() => checkWritable(text(kibibytes + 1), 'yaml')).toThrow('frontmatter: larger than 256 KiB');
    const lines = { title: 'T', lines: '- a\n'.repeat(1_000_000) };
    expect(() => createFile({ format: 'yaml', frontmatter: lines, body: '' })).toThrow('larger than 256 KiB');
  });

  it('refuses more than 10,000 values, those inside others counted', () => {
    const records = (count: number) => ({ a: Array.from({ length: count }, () => ({ b: 1 })) });
    const most = limits.writtenValues / 2 - 1;
    expect(() => checkWritable({ ...records(most), c: 1 }, 'yaml')).not.toThrow();
    expect(() => checkWritable({ ...records(most), c: [1] }, 'yaml')).toThrow(
      'frontmatter: more than 10000 values; write the file as raw text instead',
    );
  });

  it('refuses nothing that a file can hold', () => {
    const text = fc.string({ unit: fc.constantFrom('a', ' ', '\n', '"', 'ü', '🂡', ':'), maxLength: 200 });
    const value = fc.oneof(text, fc.array(fc.oneof(text, fc.integer(), fc.constant(null))), fc.dictionary(text, text));
    fc.assert(
      fc.property(fc.dictionary(text, value), fc.constantFrom('yaml' as const, 'json' as const), (some, format) => {
        // As large as a block may be: what is written is never less than what was counted.
        let written = 0;
        try {
          written = createFile({ format, frontmatter: some, body: '' }).bytes.length;
        } catch (error) {
          // Some texts do not read back as given, whatever their size.
          fc.pre((error as DomainError).code !== 'not_editable');
          throw error;
        }
        const padding = kibibytes - written - 20;
        const padded = { ...some, padding: 'x'.repeat(padding) };
        expect(createFile({ format, frontmatter: padded, body: '' }).bytes.length).toBeGreaterThan(kibibytes - 40);
      }),
      { numRuns: 40 },
    );
  });
});
