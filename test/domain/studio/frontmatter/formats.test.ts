import { describe, expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { createFile, editFile } from '../../../../src/domain/studio/frontmatter/edit-file.ts';
import { parseFile } from '../../../../src/domain/studio/frontmatter/parse-file.ts';
import { isDateText } from '../../../../src/domain/studio/frontmatter/yaml/emit.ts';
import { readSimpleYaml } from '../../../../src/domain/studio/frontmatter/yaml/read-simple.ts';
import { readYaml } from '../../../../src/domain/studio/frontmatter/yaml/read-yaml.ts';
import { DomainError } from '../../../../src/kernel/errors.ts';
import fc from '../../../support/properties.ts';
import { change, frontmatter, text, yamlSource } from './generate.ts';

const lone = (value: unknown) => !JSON.stringify(value).isWellFormed() || /\\ud[89a-f]/i.test(JSON.stringify(value));
const withoutNulls = (value: unknown): unknown => JSON.parse(JSON.stringify(value, (_, member) => member ?? ''));

describe('createFile', () => {
  it.each(['yaml', 'json'] as const)('writes %s that reads back', (format) => {
    fc.assert(
      fc.property(frontmatter, text, (given, body) => {
        fc.pre(body.isWellFormed());
        const read = parseFile(createFile({ format, frontmatter: given, body }).bytes, 'a.md');
        expect(read.frontmatter).toEqual(given);
        expect(read).toMatchObject({ body, format, gap: true });
      }),
      { numRuns: 400 },
    );
  });

  it('writes toml that reads back', () => {
    fc.assert(
      fc.property(frontmatter, (given) => {
        fc.pre(!lone(given));
        const whole = withoutNulls(given) as Record<string, unknown>;
        const read = parseFile(createFile({ format: 'toml', frontmatter: whole, body: 'x' }).bytes, 'a.md');
        expect(read.frontmatter).toEqual(whole);
      }),
    );
  });

  it('writes YAML that readers of 1.1 and 1.2 read the same, dates apart', () => {
    fc.assert(
      fc.property(frontmatter, (given) => {
        const { bytes } = createFile({
          format: 'yaml',
          frontmatter: given,
          body: '',
          kind: 'data',
          isDate: () => false,
        });
        for (const version of ['1.1', '1.2'] as const) {
          const document = parseDocument(bytes.toString(), { version });
          expect(document.errors).toEqual([]);
          expect(document.toJS() ?? {}).toEqual(given);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('leaves only dates to be read as dates', () => {
    expect(isDateText('2024-02-29') && isDateText('2024-01-01T10:00:00Z')).toBe(true);
    expect(isDateText('2023-02-29') || isDateText('2024-1-1') || isDateText('2024-01-01x')).toBe(false);
  });

  it('orders keys by the schema and keeps the gap', () => {
    const { bytes } = createFile({
      format: 'yaml',
      frontmatter: { tags: ['a', 'yes'], date: '2024-05-01', title: 'A: b', extra: null },
      body: 'Text\n',
      fieldOrder: ['title', 'date'],
    });
    expect(bytes.toString()).toBe(
      '---\ntitle: "A: b"\ndate: 2024-05-01\ntags:\n  - a\n  - "yes"\nextra: null\n---\n\nText\n',
    );
  });

  it('refuses null in TOML, numbers without end, and keys in a file of no format', () => {
    expect(() => createFile({ format: 'toml', frontmatter: { a: null }, body: '' })).toThrow(
      /frontmatter\.a: TOML has no null/,
    );
    expect(() => createFile({ format: 'yaml', frontmatter: { a: Number.NaN }, body: '' })).toThrow(/finite/);
    expect(() => createFile({ format: 'none', frontmatter: { a: 1 }, body: '' })).toThrow(DomainError);
  });
});

describe('readSimpleYaml', () => {
  it.each(['a: -\n', 'a:\n  - -\n', 'a: - b\n'])('leaves %j to the full parser', (source) => {
    expect(readSimpleYaml(source)).toBeUndefined();
  });

  it('reads exactly what the full parser reads, or nothing', () => {
    const line = fc.oneof(
      fc.tuple(
        fc.constantFrom('', ' ', '  ', '    '),
        fc.constantFrom('a', 'b-c', 'yes', 'true', 'Null', '__proto__', '1'),
        text,
      ),
    );
    const loose = fc
      .array(
        fc.oneof(
          line.map(([pad, key, value]) => `${pad}${key}: ${value}`),
          line.map(([pad, , value]) => `${pad}- ${value}`),
        ),
        {
          maxLength: 5,
        },
      )
      .map((lines) => `${lines.join('\n')}\n`);
    let simple = 0;
    fc.assert(
      fc.property(fc.oneof(yamlSource, loose), (source) => {
        const read = readSimpleYaml(source);
        if (read === undefined) return;
        simple++;
        expect(readYaml(source)).toEqual(read);
      }),
      { numRuns: 3000 },
    );
    expect(simple).toBeGreaterThan(100);
  });
});

describe('editing JSON and TOML', () => {
  it.each(['json', 'toml'] as const)('%s reads back as wanted or refuses', (format) => {
    let refused = 0;
    fc.assert(
      fc.property(
        frontmatter.chain((given) => fc.tuple(fc.constant(given), change(given))),
        (pair) => {
          fc.pre(format === 'json' || !lone(pair));
          const [given, wanted] = (format === 'json' ? pair : withoutNulls(pair)) as Record<string, unknown>[];
          const { bytes } = createFile({ format, frontmatter: given ?? {}, body: 'Text' });
          try {
            const result = editFile(bytes, 'a.md', { frontmatter: wanted ?? {} });
            const after = parseFile(result.bytes, 'a.md');
            expect(after.frontmatter).toEqual(wanted);
            expect(after.body).toBe('Text');
          } catch (error) {
            if (!(error instanceof DomainError)) throw error;
            refused++;
            if (process.env.SHOW_REFUSED) console.log(String(error), bytes.toString(), JSON.stringify(wanted));
          }
        },
      ),
      { numRuns: 400 },
    );
    expect(refused).toBeLessThan(12);
  });

  it('changes only the value in TOML, and keeps dates dates', () => {
    const bytes = Buffer.from(
      `+++\n# top\ntitle = 'x' # c\ndate = 2024-01-01\nw = 1.5\n[params]\n  a = [1, 2]\n+++\nText`,
    );
    const wanted = { title: 'y', date: '2025-02-03', w: 2, params: { a: [1, 3, 2], b: true } };
    expect(editFile(bytes, 'a.md', { frontmatter: wanted }).bytes.toString()).toBe(
      `+++\n# top\ntitle = 'y' # c\ndate = 2025-02-03\nw = 2.0\n[params]\n  a = [1, 3, 2]\n  b = true\n+++\nText`,
    );
  });

  it('keeps and moves the sections of a list of tables', () => {
    const source = (...names: string[]) =>
      Buffer.from(names.map((name) => `# ${name}\n[[m]]\nname = "${name}"\n`).join('\n'));
    const result = editFile(source('a', 'b', 'c'), 'a.toml', { frontmatter: { m: [{ name: 'a' }, { name: 'c' }] } });
    expect(result.bytes.toString()).toBe(source('a', 'c').toString());
  });

  it.each([
    ['a.b = 1\nc = 2\n', { a: {}, c: 2 }, 'c = 2\na = {}\n'],
    ['c = 2\n[a.b]\nx = 1\n', { a: { d: 1 }, c: 2 }, 'c = 2\na = { d = 1 }\n'],
    ['[a]\nb = 1\n', { a: {} }, '[a]\n'],
  ])('keeps a table that loses all its keys: %j', (source, frontmatter, result) => {
    expect(editFile(Buffer.from(source), 'a.toml', { frontmatter }).bytes.toString()).toBe(result);
  });

  it('leaves the end of the file alone when the last section goes', () => {
    const source = '[[m]]\nname = "a"\n\n# b\n[[m]]\nname = "b"\n# the end\n';
    const result = editFile(Buffer.from(source), 'a.toml', { frontmatter: { m: [{ name: 'a' }] } });
    expect(result.bytes.toString()).toBe('[[m]]\nname = "a"\n\n# the end\n');
  });

  it('removes the blank lines that part the sections of a list with them', () => {
    const source = 'x = 1\n\n[[m]]\nname = "a"\n\n[[m]]\nname = "b"\n\n[n]\ny = 2\n';
    const result = editFile(Buffer.from(source), 'a.toml', { frontmatter: { x: 1, n: { y: 2 } } });
    expect(result.bytes.toString()).toBe('x = 1\n\n\n[n]\ny = 2\n');
  });

  it('refuses a name given twice, depth over 64 and a list at the top of JSON', () => {
    expect(parseFile(Buffer.from('{"a": 1,\n "a": 2}'), 'a.json').error).toMatchObject({ line: 2, column: 2 });
    const deep = (levels: number) => Buffer.from(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`);
    expect(parseFile(deep(64), 'a.json').error).toBeUndefined();
    expect(parseFile(deep(65), 'a.json').error?.message).toMatch(/64 levels/);
    expect(parseFile(Buffer.from('[1]'), 'a.json').error).toBeDefined();
  });
});

describe('numbers JavaScript cannot hold', () => {
  it.each([
    ['a.yml', 'a: 12345678901234567890\nb: .inf\nc: 1\n', ['/a', '/b']],
    ['a.json', '{"a": 12345678901234567890, "b": 1e999, "c": 1}', ['/a', '/b']],
    ['a.toml', 'a = 9007199254740993\nb = inf\nc = 1\n', ['/a', '/b']],
  ])('%s gives them as strings and writes them back untouched', (path, source, lossy) => {
    const read = parseFile(Buffer.from(source), path);
    expect(read.lossy).toEqual(lossy);
    expect(typeof read.frontmatter?.a).toBe('string');
    const result = editFile(Buffer.from(source), path, { frontmatter: { ...read.frontmatter, c: 2 } });
    expect(result.bytes.toString()).toBe(source.replace(/(c\W+)1/, '$12'));
  });
});
