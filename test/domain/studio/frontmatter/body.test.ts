import { describe, expect, it } from 'vitest';
import { createFile, editFile } from '../../../../src/domain/studio/frontmatter/edit-file.ts';
import { parseFile } from '../../../../src/domain/studio/frontmatter/parse-file.ts';
import { eolOf, joinSplit, splitFile } from '../../../../src/domain/studio/frontmatter/split.ts';
import fc from '../../../support/properties.ts';

const piece = fc.constantFrom(
  '',
  '\n',
  '\r\n',
  '---\n',
  '---',
  '+++\n',
  ';;;\n',
  '{"a": 1}',
  '{}\n',
  'a: 1\n',
  'b = 1\n',
  '...\n',
  '\ufeff',
  ' ',
  'Text',
  '{x}',
);
const anyFile = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));
const set = (file: string, body: string, path = 'a.md') => editFile(Buffer.from(file), path, { body }).bytes.toString();

describe('splitting', () => {
  it('joins to the same text, whatever the file', () => {
    fc.assert(
      fc.property(anyFile, fc.constantFrom('a.md', 'a.yml', 'a.json'), (file, path) => {
        expect(joinSplit(splitFile(file, path))).toBe(file);
      }),
    );
  });
  it.each([
    ['---\na: 1\n---\n\nText', 'yaml', true, 'Text'],
    ['---  \na: 1\n...\nText', 'yaml', false, 'Text'],
    ['---\na: 1\n---', 'yaml', false, ''],
    ['+++\na = 1\n+++\nText', 'toml', false, 'Text'],
    [';;;\n{"a": 1}\n;;;\n\nText', 'json', true, 'Text'],
    ['{"a": 1}\n\nText', 'json', true, 'Text'],
    ['\ufeff---\na: 1\n---\nText', 'yaml', false, 'Text'],
    ['---\nno end', 'none', false, '---\nno end'],
    ['---js\na: 1\n---\n', 'none', false, '---js\na: 1\n---\n'],
    ['{/* note */}\nText', 'none', false, '{/* note */}\nText'],
    ['Text\n---\na: 1\n---\n', 'none', false, 'Text\n---\na: 1\n---\n'],
  ])('%j', (file, format, gap, body) => {
    expect(parseFile(Buffer.from(file), 'a.md')).toMatchObject({ format, gap, body, bom: file.startsWith('\ufeff') });
  });
  it('recognises the line ends', () => {
    expect([eolOf('a'), eolOf('a\nb'), eolOf('a\r\nb\r\n'), eolOf('a\r\nb\n'), eolOf('\n\r\n')]).toEqual([
      'lf',
      'lf',
      'crlf',
      'mixed',
      'mixed',
    ]);
  });
});

describe('the body law', () => {
  it('returns a written body unchanged and keeps the frontmatter', () => {
    fc.assert(
      fc.property(anyFile, anyFile, (file, body) => {
        const before = parseFile(Buffer.from(file), 'a.md');
        fc.pre(before.error === undefined);
        const after = parseFile(Buffer.from(set(file, body)), 'a.md');
        const converted = before.eol === 'crlf' && !body.includes('\r\n') ? body.replaceAll('\n', '\r\n') : body;
        expect(after.body).toBe(converted);
        expect(after.frontmatter).toEqual(before.frontmatter);
        expect(after.bom).toBe(before.bom);
        expect(set(file, before.body)).toBe(file);
      }),
      { numRuns: 2000 },
    );
  });
  it('keeps the gap, and adds one for a body that begins with a line end', () => {
    expect(set('---\na: 1\n---\n\nOld', 'New')).toBe('---\na: 1\n---\n\nNew');
    expect(set('---\na: 1\n---\nOld', 'New')).toBe('---\na: 1\n---\nNew');
    expect(set('---\na: 1\n---\nOld', '\nNew')).toBe('---\na: 1\n---\n\n\nNew');
    expect(set('---\na: 1\n---', 'New')).toBe('---\na: 1\n---\nNew');
  });
  it('turns LF into CRLF only in a file that is wholly CRLF', () => {
    expect(set('---\r\na: 1\r\n---\r\nOld\r\n', 'x\ny\n')).toBe('---\r\na: 1\r\n---\r\nx\r\ny\r\n');
    expect(set('---\r\na: 1\r\n---\r\nOld\n', 'x\ny\n')).toBe('---\r\na: 1\r\n---\r\nx\ny\n');
  });
  it('gives a file without a block one with its first key, in the requested format', () => {
    const add = (format: 'yaml' | 'toml' | 'json') =>
      editFile(Buffer.from('Text'), 'a.md', { frontmatter: { a: 1 } }, { format }).bytes.toString();
    expect([add('yaml'), add('toml'), add('json')]).toEqual([
      '---\na: 1\n---\n\nText',
      '+++\na = 1\n+++\n\nText',
      '{\n  "a": 1\n}\n\nText',
    ]);
  });
  it('refuses a body in a data file', () => {
    expect(() => set('a: 1\n', 'Text', 'a.yml')).toThrow(/body: a data file has no body/);
    expect(set('a: 1\n', '', 'a.yml')).toBe('a: 1\n');
  });
});

describe('blank lines before a block', () => {
  it.each([
    ['\n---\ntitle: T\n---\n\nText\n', 'yaml'],
    ['\ufeff \t\n\r\n---\r\n# note\r\ntitle: T\r\n---\r\n\r\nText\r\n', 'yaml'],
    ['\n\n+++\ntitle = "T"\n+++\n\nText\n', 'toml'],
    ['\n{\n  "title": "T"\n}\n\nText\n', 'json'],
  ])('are kept, and the block is read as Hugo reads it: %j', (source, format) => {
    const read = parseFile(Buffer.from(source), 'a.md');
    expect(read).toMatchObject({ format, frontmatter: { title: 'T' }, gap: true });
    expect(read.body.trim()).toBe('Text');
    const edited = editFile(Buffer.from(source), 'a.md', { frontmatter: { title: 'U' }, body: 'Other' });
    expect(edited.bytes.toString()).toBe(source.replace('T', 'U').replace(/Text\r?\n$/, 'Other'));
  });

  it('leave two rules of Markdown a body', () => {
    for (const body of [
      '\n---\nText\n---\n',
      '\n---\n- a: b\n---\n',
      '\n---\n\n---\n',
      '\n+++\nText\n+++\n',
      '\n{ x }\n',
      '\n---\nhttp://a.b\n---\n',
    ])
      expect(parseFile(Buffer.from(body), 'a.md')).toMatchObject({ format: 'none', body });
  });

  it('count into the line of a fault', () => {
    expect(parseFile(Buffer.from('\n\n---\ntitle: [\n---\n'), 'a.md').error).toMatchObject({ line: 5 });
  });

  it('of a body that begins like a block are written behind an empty one', () => {
    const body = '\n---\ntitle: T\n---\nText\n';
    const made = createFile({ format: 'none', frontmatter: {}, body }).bytes;
    expect(parseFile(made, 'a.md')).toMatchObject({ frontmatter: {}, body });
  });
});
