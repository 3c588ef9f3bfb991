import { describe, expect, it } from 'vitest';
import { editFile } from '../../../../src/domain/studio/frontmatter/edit-file.ts';
import { parseFile } from '../../../../src/domain/studio/frontmatter/parse-file.ts';
import { DomainError } from '../../../../src/kernel/errors.ts';
import fc from '../../../support/properties.ts';
import { change, yamlSource } from './generate.ts';

const file = (source: string, body = '\nText\n') => Buffer.from(`---\n${source}---\n${body}`);
const edited = (source: string, change: (frontmatter: Record<string, unknown>) => Record<string, unknown>) => {
  const bytes = file(source);
  const result = editFile(bytes, 'a.md', { frontmatter: change(parseFile(bytes, 'a.md').frontmatter ?? {}) });
  return result.bytes
    .toString()
    .replace(/^---\n/, '')
    .replace(/---\n\nText\n$/, '');
};
const without = (key: string) => (frontmatter: Record<string, unknown>) => {
  const { [key]: _, ...rest } = frontmatter;
  return rest;
};

const variants = fc.record({
  crlf: fc.boolean(),
  bom: fc.boolean(),
  body: fc.constantFrom('', '\nText\n', 'Text', '\n\n# T\n'),
});
const written = fc.tuple(yamlSource, variants).map(([source, { crlf, bom, body }]) => {
  const text = `${bom ? '\ufeff' : ''}---\n${source}---\n${body}`;
  return Buffer.from(crlf ? text.replaceAll('\n', '\r\n') : text);
});

describe('laws over generated YAML', () => {
  it('reads back as wanted or refuses, and leaves other pairs and the body alone', () => {
    let refused = 0;
    let total = 0;
    fc.assert(
      fc.property(
        written.chain((bytes) => fc.tuple(fc.constant(bytes), change(parseFile(bytes, 'a.md').frontmatter ?? {}))),
        ([bytes, wanted]) => {
          const before = parseFile(bytes, 'a.md');
          expect(before.error).toBeUndefined();
          total++;
          let result: ReturnType<typeof editFile>;
          try {
            result = editFile(bytes, 'a.md', { frontmatter: wanted });
          } catch (error) {
            expect(error).toBeInstanceOf(DomainError);
            refused++;
            if (process.env.SHOW_REFUSED)
              console.log(String(error), JSON.stringify(bytes.toString()), JSON.stringify(wanted));
            return;
          }
          const after = parseFile(result.bytes, 'a.md');
          expect(after.frontmatter).toEqual(wanted);
          expect([after.body, after.bom, after.gap]).toEqual([before.body, before.bom, before.gap]);
          if (before.eol === 'crlf') expect(after.eol).toBe('crlf');
        },
      ),
      { numRuns: 300 },
    );
    expect(refused / total).toBeLessThan(0.01);
  });

  it('keeps the bytes when nothing is wanted, whatever the order of the keys', () => {
    fc.assert(
      fc.property(written, (bytes) => {
        const { frontmatter, body } = parseFile(bytes, 'a.md');
        const turned = Object.fromEntries(Object.entries(frontmatter ?? {}).reverse());
        const result = editFile(bytes, 'a.md', { frontmatter: turned, body });
        expect(result.changed).toBe(false);
        expect(result.bytes.equals(bytes)).toBe(true);
      }),
    );
  });
});

describe('the smallest change', () => {
  it('keeps quotes and the trailing comment of a scalar', () => {
    expect(edited(`a: 'x' # c\nb: "y"\n`, (was) => ({ ...was, a: "it's", b: 'z' }))).toBe(`a: 'it''s' # c\nb: "z"\n`);
  });
  it('leaves plain only for what both YAML versions read the same', () => {
    expect(edited('a: x\nb: y\n', (was) => ({ ...was, a: 'yes', b: 'fine' }))).toBe('a: "yes"\nb: fine\n');
  });
  it('keeps a plain date plain and a quoted one quoted', () => {
    expect(edited(`a: 2024-01-01\nb: '2024-01-01'\n`, () => ({ a: '2025-02-03', b: '2025-02-03' }))).toBe(
      `a: 2025-02-03\nb: '2025-02-03'\n`,
    );
  });
  it('adds a key behind the last pair, before the comments at the end', () => {
    expect(edited('a: 1\n# end\n', (was) => ({ ...was, b: [1, { c: 'x' }] }))).toBe(
      'a: 1\nb:\n  - 1\n  - c: x\n# end\n',
    );
  });
  it('removes a key with its comments only', () => {
    expect(edited('# about a\na: 1\n\n# about b\n# more\nb: 2 # two\nc: 3\n', without('b'))).toBe(
      '# about a\na: 1\n\nc: 3\n',
    );
  });
  it('keeps the indicator of a block scalar', () => {
    expect(edited('a: >-\n    one\n    two\nb: 1\n', (was) => ({ ...was, a: 'three\nfour' }))).toBe(
      'a: >-\n    three\n\n    four\nb: 1\n',
    );
  });
  it('edits lists item by item', () => {
    const source = 'a:\n- "x" # first\n- y\n- z\n';
    expect(edited(source, () => ({ a: ['y', 'x', 'n'] }))).toBe('a:\n- y\n- "x" # first\n- "n"\n');
  });
  it('edits flow collections in place', () => {
    expect(edited('a: [x, y,z]\nb: { c: 1 }\n', () => ({ a: ['x', 'z', 'w'], b: { c: 1, d: 'e' } }))).toBe(
      'a: [x, z, w]\nb: { c: 1, d: e }\n',
    );
  });
  it('keeps the comments of a list between brackets with their items', () => {
    const source = 'a: [\n    x, # one\n    # two\n    y # three\n  ] # four\n';
    const head = (...lines: string[]) => `a: [\n${lines.map((line) => `    ${line}\n`).join('')}  ] # four\n`;
    expect(edited(source, () => ({ a: ['x', 'n', 'y'] }))).toBe(head('x, # one', '"n",', '# two', 'y # three'));
    expect(edited(source, () => ({ a: ['x', 'y', 'z'] }))).toBe(head('x, # one', '# two', 'y, # three', 'z'));
    expect(edited(source, () => ({ a: ['y', 'x'] }))).toBe(head('# two', 'y, # three', 'x # one'));
    expect(edited(source, () => ({ a: ['x'] }))).toBe(head('x # one'));
    expect(edited(source, () => ({ a: ['y'] }))).toBe(head('# two', 'y # three'));
  });
  it('leaves a comma behind the last line between brackets as it found it', () => {
    expect(edited('a: [\n  x,\n  y,\n]\n', () => ({ a: ['x', 'z'] }))).toBe('a: [\n  x,\n  z,\n]\n');
    expect(edited('a: {\n  x: 1,\n  y: 2,\n}\n', () => ({ a: { x: 1, z: 3 } }))).toBe('a: {\n  x: 1,\n  z: 3,\n}\n');
  });
  it('takes the blank lines below a removed key where a block scalar would take them in', () => {
    expect(edited('a: |+\n  x\n\nb: 1\n\n', without('b'))).toBe('a: |+\n  x\n\n');
  });
  it('edits a map inside a list and moves the next key behind the dash', () => {
    expect(edited('a:\n  - id: 1\n    t: x # c\n', () => ({ a: [{ t: 'x' }] }))).toBe('a:\n  - t: x # c\n');
  });
  it('empties a nested map and fills an empty value', () => {
    expect(edited('a:\n  b: 1\nc:\n', () => ({ a: {}, c: 'x' }))).toBe('a: {}\nc: x\n');
  });
  it('keeps the comment of a key whose collection gives way to text', () => {
    expect(edited('a: # c\n  b: 1\nd: 2\n', (was) => ({ ...was, a: 'x\ny' }))).toBe('a: |- # c\n  x\n  y\nd: 2\n');
  });
  it('allows a key that overrides a merge key', () => {
    const source = 'd: &d\n  x: 1\ne:\n  <<: *d\n  x: 2\n';
    expect(edited(source, () => ({ d: { x: 1 }, e: { x: 3 } }))).toBe('d: &d\n  x: 1\ne:\n  <<: *d\n  x: 3\n');
  });
});

describe('refuses, naming the key, and changes nothing', () => {
  const refuses = (source: string, wanted: Record<string, unknown>, code: string, reason: RegExp) => {
    try {
      editFile(file(source), 'a.md', { frontmatter: wanted });
    } catch (error) {
      expect(error).toMatchObject({ code });
      expect((error as Error).message).toMatch(reason);
      // The field is one of the request, as it is for every other refusal.
      for (const { field } of ((error as DomainError).details?.errors ?? []) as { field: string }[])
        expect(field).toMatch(/^\/frontmatter(\/|$)/);
      return;
    }
    expect.unreachable('the edit must be refused');
  };
  it('invalid syntax', () => refuses('a: [\n', { a: 1 }, 'frontmatter_invalid', /line \d+, column \d+/));
  it('duplicate keys', () => refuses('a: 1\na: 2\n', { a: 1 }, 'frontmatter_invalid', /a is given twice \(line 3/));
  it('an edit inside an alias', () =>
    refuses(
      'a: &x { k: 1 }\nb: *x\n',
      { a: { k: 1 }, b: { k: 2 } },
      'not_editable',
      /^b: is an alias of the anchor x/,
    ));
  it('an edit of an anchor that is used', () =>
    refuses('a: &x { k: 1 }\nb: *x\n', { a: { k: 2 }, b: { k: 1 } }, 'not_editable', /^a: is the anchor x/));
  it('an edit through a merge key', () =>
    refuses(
      'a: &x { k: 1 }\nb:\n  <<: *x\n',
      { a: { k: 1 }, b: { k: 2 } },
      'not_editable',
      /^b\.k: comes through a merge key/,
    ));
  it('the removal of an anchor that is used', () =>
    refuses('a: &x 1\nb: *x\n', { b: 1 }, 'not_editable', /^a: .*the alias \*x has no anchor/));
  it('a custom tag on the edited node', () =>
    refuses('a: !env HOME\n', { a: 'x' }, 'not_editable', /^a: carries the tag !env/));
  it('tabs as indentation', () => refuses('a:\n\tb: 1\n', { a: 1 }, 'frontmatter_invalid', /tab/));
  it('frontmatter over 256 KiB', () =>
    refuses(`a: ${'x'.repeat(262_144)}\n`, { a: 1 }, 'frontmatter_invalid', /256 KiB/));
  it('more than 100 alias expansions', () =>
    refuses(`a: &x 1\nb: [${'*x, '.repeat(101)}]\n`, { a: 1 }, 'frontmatter_invalid', /100 alias/));
  it('depth over 64', () =>
    refuses(`a: ${'['.repeat(64)}${']'.repeat(64)}\n`, { a: 1 }, 'frontmatter_invalid', /64 levels/));
  it('keys that are not strings on the edited map', () =>
    refuses('m:\n  1: a\nt: x\n', { m: { '1': 'b' }, t: 'x' }, 'not_editable', /^m: has the key 1/));
  it('template placeholders as unquoted values', () =>
    refuses('a: {{ x }}\n', { a: 1 }, 'frontmatter_invalid', /placeholder/));
  it('text that is not UTF-8', () => {
    const bytes = Buffer.from('---\na: \xe9\n---\n', 'latin1');
    expect(() => editFile(bytes, 'a.md', { frontmatter: { a: 1 } })).toThrow(/not UTF-8 text \(line 2, column 4\)/);
  });
  it('but edits beside all that is only unusual', () => {
    expect(edited('m:\n  1: a\nt: x\nc: !env HOME\n', (was) => ({ ...was, t: 'z' }))).toBe(
      'm:\n  1: a\nt: z\nc: !env HOME\n',
    );
  });
});

describe('limits, the last value allowed', () => {
  it('256 KiB', () => expect(parseFile(file(`a: ${'x'.repeat(262_144 - 4)}\n`), 'a.md').error).toBeUndefined());
  it('100 alias expansions', () =>
    expect(parseFile(file(`a: &x 1\nb: [${'*x, '.repeat(100)}]\n`), 'a.md').error).toBeUndefined());
  it('depth 64', () =>
    expect(parseFile(file(`a: ${'['.repeat(63)}${']'.repeat(63)}\n`), 'a.md').error).toBeUndefined());
});
