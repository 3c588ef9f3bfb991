import { describe, expect, it } from 'vitest';
import { parseFile } from '../../../../src/domain/studio/frontmatter/parse-file.ts';
import { conflict, type Resolution, resolution } from '../../../../src/domain/studio/merge/merge.schema.ts';
import { mergeEntry } from '../../../../src/domain/studio/merge/merge-entry.ts';

type Text = string | null;
const bytes = (text: Text) => (text === null ? null : Buffer.from(text));

function merge(base: Text, current: Text, incoming: Text, settle?: Omit<Resolution, 'path'>, path = 'a.md') {
  const sides = { base: bytes(base), current: bytes(current), incoming: bytes(incoming), path };
  const result = mergeEntry(settle ? { ...sides, resolution: resolution.parse({ path, ...settle }) } : sides);
  if (result.kind === 'clean') return { text: result.bytes?.toString() ?? null, resolved: result.resolved };
  const stages = { base: null, current: null, incoming: null };
  conflict.parse({ path, stages, ...result.conflict });
  return result.conflict;
}

const page = (block: string, body = 'one\n\ntwo\n\nthree\n') => `---\n${block}---\n\n${body}`;

describe('writing', () => {
  it('merges neighbouring keys, keeping the comments, quotes and order of both sides', () => {
    const merged = merge(
      page('title: Old # t\ndate: 2024-01-01\ndraft: true\nx: 1\ntags: [a]\n'),
      page(`# mine\ntitle: 'New' # t\ndate: 2024-01-01\ndraft: true\nx: 1\ntags: [a, b]\n`),
      page('title: Old # t\ndate: 2024-02-02\ndraft: true # soon\nx: 1\ntags: [a, c]\n', 'one\n\n2\n\nthree\n'),
    );
    expect(merged).toEqual({
      text: page(
        `# mine\ntitle: 'New' # t\ndate: 2024-02-02\ndraft: true # soon\nx: 1\ntags: [a, b, c]\n`,
        'one\n\n2\n\nthree\n',
      ),
      resolved: ['/title', '/date', '/tags'],
    });
  });

  it('takes what only incoming did to the block, to the byte', () => {
    const block = 'b: 1 # new comment\na: "2"\n';
    expect(merge(page('a: 1\nb: 1\n'), page('a: 1\nb: 1\n', 'mine\n'), page(block))).toMatchObject({
      text: page(block, 'mine\n'),
    });
  });

  it('keeps a date that incoming wrote plain a date', () => {
    expect(
      merge(page('a: 1\n'), page('a: 1\nb: x\n'), page('a: 1\ndate: 2024-01-01\nq: "2024-01-02"\n')),
    ).toMatchObject({
      text: page('a: 1\nb: x\ndate: 2024-01-01\nq: "2024-01-02"\n'),
    });
  });

  it.each([
    [
      'toml',
      '+++\na = 1\nd = 2024-01-01\n+++\nx\n',
      '+++\na = 2 # c\nd = 2024-01-01\n+++\nx\n',
      '+++\na = 1\nd = 2024-05-01\n+++\ny\n',
      '+++\na = 2 # c\nd = 2024-05-01\n+++\ny\n',
    ],
    [
      'json',
      '{\n  "a": 1,\n  "b": 1\n}\n\nx\n',
      '{\n  "a": 2,\n  "b": 1\n}\n\nx\n',
      '{\n  "a": 1,\n  "b": 2\n}\n\ny\n',
      '{\n  "a": 2,\n  "b": 2\n}\n\ny\n',
    ],
  ])('merges %s blocks', (_, base, current, incoming, text) => {
    expect(merge(base, current, incoming)).toMatchObject({ text });
  });

  it.each([
    ['yaml', 'a: 1\nb: 1\n', 'a: 2 # c\nb: 1\n', 'a: 1\nb: 2\n', 'a: 2 # c\nb: 2\n'],
    ['toml', 'a = 1\nb = 1\n', 'a = 2 # c\nb = 1\n', 'a = 1\nb = 2\n', 'a = 2 # c\nb = 2\n'],
    ['json', '{"a": 1, "b": 1}', '{"a": 2, "b": 1}', '{"a": 1, "b": 2}', '{"a": 2, "b": 2}'],
  ])('merges %s data files', (extension, base, current, incoming, text) => {
    expect(merge(base, current, incoming, undefined, `a.${extension}`)).toMatchObject({ text });
  });

  it('keeps line ends, mark and gap of current, whichever the others have', () => {
    const crlf = (text: string) => text.replaceAll('\n', '\r\n');
    const base = '---\na: 1\nb: 1\n---\none\n\ntwo\n';
    const merged = merge(
      base,
      `\ufeff${crlf(base.replace('a: 1', 'a: 2'))}`,
      base.replace('b: 1', 'b: 2').replace('two', '2'),
    );
    expect(merged).toMatchObject({ text: `\ufeff${crlf('---\na: 2\nb: 2\n---\none\n\n2\n')}` });
  });

  it('writes onto incoming where current has no safe place for the change', () => {
    const source = 'x: &x 1\ny: *x\nz: 1\n';
    expect(merge(page(source), page('x: &x 1\ny: *x\nz: 2\n'), page('x: &x 3\ny: *x\nz: 1\n'))).toMatchObject({
      text: page('x: &x 3\ny: *x\nz: 2\n'),
    });
  });

  it('gives up on the whole file where neither has, and says why', () => {
    const block = (map: string) => page(`x: &x ${map}\ny: *x\n`);
    expect(merge(block('{ a: 1 }'), block('{ a: 2 }'), block('{ a: 1, b: 1 }'))).toEqual({
      type: 'field',
      fields: [],
      hunks: [],
      resolved: [],
      reason: expect.stringMatching(/anchor/),
    });
  });

  it('keeps a number that JavaScript cannot hold a number, or gives up', () => {
    const [base, ours, theirs] = ['a: 1\n', 'a: 1\nm: 123456789012345678901\n', 'a: 1\nn: 123456789012345678902\n'];
    const found = merge(page(base), page(ours), page(theirs));
    expect(found).toMatchObject({ type: 'field', fields: [], reason: expect.stringContaining('number') });
    expect(merge(page(base), page('a: 1\nb: 1\n'), page(theirs))).toMatchObject({ text: page(`${theirs}b: 1\n`) });
    expect(merge(page(ours), page(ours.replace('a: 1', 'a: 2')), page(`${ours}b: 1\n`))).toMatchObject({
      text: page(`${ours.replace('a: 1', 'a: 2')}b: 1\n`),
    });
  });

  it('adds a block to a file that has none', () => {
    expect(merge('one\n\ntwo\n', '1\n\ntwo\n', '---\na: 1\n---\n\none\n\ntwo\n')).toMatchObject({
      text: page('a: 1\n', '1\n\ntwo\n'),
    });
  });
});

describe('conflicts', () => {
  const base = page('title: Old\ntags: [a]\ndraft: true\n');
  const current = page('title: Mine\ntags: [a, b]\ndraft: true\n', 'one\n\nTWO\n\nthree\n');
  const incoming = page('title: Theirs\ntags: [a, c]\ndraft: false\n', 'one\n\n2\n\nthree\n');

  it('reports fields, hunks and what was merged', () => {
    expect(merge(base, current, incoming)).toEqual({
      type: 'field',
      fields: [{ field: '/title', label: 'Title', base: 'Old', current: 'Mine', incoming: 'Theirs' }],
      hunks: [{ id: '1', base: 'two\n', current: 'TWO\n', incoming: '2\n', line: 3 }],
      resolved: ['/tags', '/draft'],
    });
  });

  it('is of type body without fields, add_add without a base', () => {
    expect(merge(page('a: 1\n'), page('a: 1\n', 'x\n'), page('a: 1\n', 'y\n'))).toMatchObject({
      type: 'body',
      fields: [],
    });
    expect(merge(null, page('a: 1\nb: 1\n'), page('a: 1\nb: 2\n'))).toEqual({
      type: 'add_add',
      fields: [{ field: '/b', label: 'B', current: 1, incoming: 2 }],
      hunks: [],
      resolved: [],
    });
  });

  it.each([
    ['deleted here, changed there', 'a', null, 'b', 'delete_modify'],
    ['changed here, deleted there', 'a', 'b', null, 'delete_modify'],
    ['not a text', 'a', 'b\0', 'c', 'binary'],
  ])('%s is a conflict of the whole file', (_, was, ours, theirs, type) => {
    expect(merge(was, ours, theirs)).toMatchObject({ type, fields: [], hunks: [] });
    expect(merge(was, ours, theirs, { take: 'incoming' })).toEqual({ text: theirs, resolved: [] });
    expect(merge(was, ours, theirs, { delete: true })).toEqual({ text: null, resolved: [] });
    expect(() => merge(was, ours, theirs, { fields: { '/a': { take: 'base' } } })).toThrow(/not in conflict/);
  });

  it('takes uncontested deletions and additions', () => {
    expect(merge('a', null, 'a')).toMatchObject({ text: null });
    expect(merge('a', 'a', null)).toMatchObject({ text: null });
    expect(merge('a', null, null)).toMatchObject({ text: null });
    expect(merge(null, null, 'a')).toMatchObject({ text: 'a' });
  });

  it('merges by lines what cannot be read, and never makes the readable unreadable', () => {
    const broken = page('a: [\nb: 1\nc: 1\n');
    expect(merge(broken, broken.replace('c: 1', 'c: 2'), `${broken}more\n`)).toMatchObject({
      text: `${broken.replace('c: 1', 'c: 2')}more\n`,
    });
    const found = merge(page('a: [\nb: 1\nc: ]\n'), page('a: []\nb: 1\nc: 1\n'), page('a: [\nb: 1\nc: ]\nd: 1\n'));
    expect(found).toMatchObject({ type: 'body' });
  });
});

describe('resolutions', () => {
  const base = page('title: Old\nsub: Old\ntags: [a]\n');
  const current = page('title: Mine\nsub: Mine\ntags: [a]\n', 'one\n\nTWO\n\nthree\n');
  const incoming = page('title: Theirs\nsub: Theirs\ntags: [b]\n', 'one\n\n2\n\nthree\n');
  const settled = (settle: Omit<Resolution, 'path'>) => merge(base, current, incoming, settle);

  it('settles pieces and keeps what was merged besides', () => {
    const fields = { '/title': { take: 'incoming' as const }, '/sub': { value: 'Both' } };
    expect(settled({ fields, hunks: { '1': { value: 'either' } } })).toEqual({
      text: page('title: Theirs\nsub: Both\ntags: [b]\n', 'one\n\neither\n\nthree\n'),
      resolved: ['/tags'],
    });
    expect(settled({ fields, hunks: { '1': { take: 'base' } } })).toMatchObject({
      text: page('title: Theirs\nsub: Both\ntags: [b]\n'),
    });
  });

  it('reports what is left, under the same names', () => {
    expect(settled({ fields: { '/title': { take: 'current' } } })).toMatchObject({
      type: 'field',
      fields: [{ field: '/sub' }],
      hunks: [{ id: '1' }],
    });
    expect(settled({ fields: { '/title': { take: 'base' }, '/sub': { take: 'base' } } })).toMatchObject({
      type: 'body',
      fields: [],
      hunks: [{ id: '1' }],
    });
  });

  it('removes a key when the side taken has none', () => {
    const sides = [page('a: 1\nb: 1\n'), page('a: 2\nb: 1\n'), page('b: 1\n')] as const;
    expect(merge(...sides, { fields: { '/a': { take: 'incoming' } } })).toMatchObject({ text: page('b: 1\n') });
    expect(merge(...sides, { fields: { '/a': { value: null } } })).toMatchObject({ text: page('a: null\nb: 1\n') });
  });

  it('settles the whole file', () => {
    expect(settled({ take: 'base' })).toEqual({ text: base, resolved: [] });
    expect(settled({ raw: 'x' })).toEqual({ text: 'x', resolved: [] });
  });

  it.each([
    ['an unknown field', { fields: { '/tags': { take: 'current' as const } } }, 'validation_failed'],
    ['an unknown hunk', { hunks: { '2': { take: 'current' as const } } }, 'validation_failed'],
    ['two ways at once', { take: 'current' as const, raw: 'x' }, 'validation_failed'],
    ['nothing', {}, 'validation_failed'],
    ['raw text that cannot be read', { raw: page('a: [\n') }, 'frontmatter_invalid'],
  ])('refuses %s', (_, settle, code) => {
    expect(() => settled(settle)).toThrow(expect.objectContaining({ code }));
  });

  it('refuses what no file can hold, what is not in conflict, and a base that is not there', () => {
    const failed = expect.objectContaining({ code: 'validation_failed' });
    const toml = (value: string) => `+++\na = ${value}\n+++\n`;
    expect(() => merge(toml('1'), toml('2'), toml('3'), { fields: { '/a': { value: null } } })).toThrow(failed);
    expect(() => merge('a', 'b', 'a', { take: 'current' })).toThrow(failed);
    expect(() => merge(page('a: 1\nb: 1\n'), page('a: 2\nb: 1\n'), page('a: 1\nb: 2\n'), { take: 'current' })).toThrow(
      failed,
    );
    expect(() => merge(null, 'b', 'a', { take: 'base' })).toThrow(failed);
    expect(resolution.safeParse({ path: 'a', fields: { '/a': {} } }).success).toBe(false);
    expect(resolution.safeParse({ path: 'a', raw: '\ud800' }).success).toBe(false);
  });

  it('gives what it writes back as merged', () => {
    const { text } = settled({
      fields: { '/title': { value: 'a: #b' }, '/sub': { value: ['x'] } },
      hunks: { '1': { value: '' } },
    }) as { text: string };
    expect(parseFile(Buffer.from(text), 'a.md')).toMatchObject({
      frontmatter: { title: 'a: #b', sub: ['x'], tags: ['b'] },
      body: 'one\n\n\nthree\n',
    });
  });
});
