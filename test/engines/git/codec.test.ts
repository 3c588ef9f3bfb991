import { readFileSync } from 'node:fs';
import path from 'node:path';
import { inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { formatCommit, parseCommit } from '../../../src/engines/git/objects/commit-codec.ts';
import { hashObject } from '../../../src/engines/git/objects/object-id.ts';
import { writeObjects } from '../../../src/engines/git/objects/object-writer.ts';
import { modes, Tree } from '../../../src/engines/git/objects/tree-codec.ts';
import { foldCase } from '../../../src/lib/text.ts';
import type { TreeEntry } from '../../../src/ports/git-records.ts';
import { git, temporaryDirectory } from '../../support/git-store.ts';
import fc from '../../support/properties.ts';
import { rounds } from '../../support/rounds.ts';

const oid = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString('hex'));
/** Short names of few letters meet often: `a`, `a.b`, `a/`, `ab`, and code points whose UTF-8 and UTF-16 orders differ. */
const name = fc
  .array(fc.constantFrom('a', 'b', '.', '-', '0', 'é', '～', '😀'), { minLength: 1, maxLength: 4 })
  .map((letters) => letters.join(''))
  .filter((text) => text !== '.' && text !== '..');
const entry = fc.record({ name, mode: fc.constantFrom(...Object.values(modes)), oid });
const entries = fc.uniqueArray(entry, { maxLength: 12, selector: (item) => item.name });

function build(list: readonly TreeEntry[]): Tree {
  return Tree.empty(20).edit(new Map(list.map((item) => [item.name, item])));
}

const typeOf: Record<string, string> = { [modes.tree]: 'tree', [modes.submodule]: 'commit' };

function mktreeInput(list: readonly TreeEntry[]): string {
  return list
    .map((item) => `${item.mode.padStart(6, '0')} ${typeOf[item.mode] ?? 'blob'} ${item.oid}\t${item.name}\0`)
    .join('');
}

describe('trees', () => {
  it('are the bytes git mktree makes', () => {
    const repository = temporaryDirectory();
    git(repository, ['init', '-q', '--bare', '.']);
    fc.assert(
      fc.property(entries, (list) => {
        const made = git(repository, ['mktree', '-z', '--missing'], mktreeInput(list));
        expect(hashObject('sha1', 'tree', build(list).raw)).toBe(made);
      }),
      { numRuns: rounds(25, 300) },
    );
  });

  it('know where each entry begins after several edits at once', () => {
    const edits = fc
      .tuple(entries, entries)
      .map(([set, gone]): [string, TreeEntry | null][] => [
        ...gone.map(({ name }): [string, null] => [name, null]),
        ...set.map((item): [string, TreeEntry] => [item.name, item]),
      ]);
    fc.assert(
      fc.property(entries, edits, (list, changes) => {
        const edited = build(list).edit(new Map(changes));
        expect([...edited.entries()]).toEqual([...Tree.parse(edited.raw, 20).entries()]);
      }),
    );
  });
  it('come back as they were set, in any order of edits', () => {
    fc.assert(
      fc.property(entries, entries, (first, second) => {
        const wanted = new Map<string, TreeEntry>();
        let tree = Tree.empty(20);
        for (const item of [...first, ...second]) {
          wanted.set(item.name, item);
          tree = tree.edit(new Map([[item.name, item]]));
        }
        expect(tree.raw.equals(build([...wanted.values()]).raw)).toBe(true);
        for (const item of wanted.values()) expect(tree.find(item.name)).toEqual(item);
        expect(tree.find('never')).toBeNull();
        expect(new Set(tree.entries())).toEqual(new Set(wanted.values()));
      }),
    );
  });

  it('lose exactly what is removed', () => {
    fc.assert(
      fc.property(entries, fc.nat(), (list, seed) => {
        const gone = list.filter((_, index) => ((seed >> (index % 16)) & 1) === 1);
        const rest = list.filter((item) => !gone.includes(item));
        const edited = build(list).edit(new Map(gone.map((item) => [item.name, null])));
        expect(edited.raw.equals(build(rest).raw)).toBe(true);
        expect([...edited.entries()]).toEqual([...Tree.parse(edited.raw, 20).entries()]);
      }),
    );
  });

  it('find the names that some file systems take for one', async () => {
    const letter = fc.constantFrom(...'aAk\u212ae\u0301\u00e9\u00c9.sS\u017f\u00df\u1e9eiI\u0131\u0130σςΣ');
    const alike = fc.array(letter, { minLength: 1, maxLength: 3 }).map((letters) => `x${letters.join('')}`);
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(alike, { maxLength: 12 }), alike, async (names, wanted) => {
        const tree = build(names.map((each) => ({ name: each, mode: modes.file, oid: '1'.repeat(40) })));
        const all = [...tree.entries()].map((each) => each.name);
        const found = (await tree.alike(wanted)).map((each) => each.name);
        expect(found).toEqual(all.filter((each) => foldCase(each) === foldCase(wanted)));
        const several = [...Map.groupBy(all, foldCase)].filter(([, [, second]]) => second !== undefined);
        expect([...(await tree.allAlike())].sort()).toEqual(several.sort());
      }),
      { numRuns: 2000 },
    );
  });

  it('keep names that are not UTF-8 and padded modes byte for byte', () => {
    const odd = Buffer.concat([Buffer.from('040000 '), Buffer.of(0xff, 0xfe), Buffer.alloc(1), Buffer.alloc(20, 7)]);
    const tree = Tree.parse(odd, 20).edit(new Map([['a', { name: 'a', mode: modes.file, oid: '0'.repeat(40) }]]));
    expect(tree.raw.subarray(-odd.length).equals(odd)).toBe(true);
    expect([...tree.entries()][1]?.mode).toBe(modes.tree);
  });

  it('have the modes that git takes theirs for, whatever is written there', () => {
    const repository = temporaryDirectory();
    git(repository, ['init', '-q', '--bare', '.']);
    const digits = fc.array(fc.constantFrom(...'01234567'), { minLength: 1, maxLength: 8 }).map((all) => all.join(''));
    const written = fc.oneof(digits, fc.constantFrom('100664', '100600', '040755', '40777', '0100755', '1040000', '4'));
    fc.assert(
      fc.property(fc.array(written, { minLength: 1, maxLength: 5 }), (all) => {
        const raw = Buffer.concat(
          all.map((mode, at) => Buffer.concat([Buffer.from(`${mode} n${at}\0`), Buffer.alloc(20, at)])),
        );
        const made = git(repository, ['hash-object', '-t', 'tree', '-w', '--literally', '--stdin'], raw);
        const listed = git(repository, ['ls-tree', '-z', made]).split('\0').filter(Boolean);
        // Of a directory git shows the bits that are written.
        const shown = listed.map((line) => (/^04/.test(line) ? modes.tree : line.slice(0, 6)));
        const tree = Tree.parse(raw, 20);
        expect([...tree.entries()].map(({ mode }) => mode)).toEqual(shown);
        const directories = shown.flatMap((mode, at) => (mode === modes.tree ? [`n${at}`] : []));
        expect([...tree.directories()].map(({ name }) => name)).toEqual(directories);
      }),
      { numRuns: rounds(50, 1000) },
    );
  });

  it('do not differ by how a mode is written', async () => {
    const of = (mode: string) => Tree.parse(Buffer.concat([Buffer.from(`${mode} a\0`), Buffer.alloc(20, 1)]), 20);
    expect(await of('100664').changesFrom(of('100644'), 10)).toEqual([]);
    expect(await of('100755').changesFrom(of('100644'), 10)).toHaveLength(1);
  });

  it('differ in each name that is no UTF-8, although such names read alike', async () => {
    const of = (...names: number[]) =>
      Tree.parse(
        Buffer.concat(
          names.map((name) => Buffer.concat([Buffer.from('100644 '), Buffer.of(name, 0), Buffer.alloc(20)])),
        ),
        20,
      );
    const changes = await of(0x80, 0x82, 0x83).changesFrom(of(0x81, 0x83), 10);
    expect(changes?.map(({ bytes, old }) => [bytes, old === null])).toEqual([
      [1, true],
      [1, false],
      [1, true],
    ]);
  });

  it('refuse bytes that are not a tree', () => {
    expect(() => Tree.parse(Buffer.from('100644 a'), 20)).toThrow(/middle of an entry/);
  });
});

describe('object ids', () => {
  it('are those of git hash-object, in both formats', () => {
    for (const format of ['sha1', 'sha256'] as const) {
      const repository = temporaryDirectory();
      git(repository, ['init', '-q', '--bare', `--object-format=${format}`, '.']);
      const contents = ['', 'a', 'zwölf\n', 'x'.repeat(100_000)];
      for (const text of contents) {
        expect(hashObject(format, 'blob', Buffer.from(text))).toBe(git(repository, ['hash-object', '--stdin'], text));
      }
    }
  });
});

describe('loose objects', () => {
  const block = 0xffff;
  const header = 'tree 65536\0'.length;
  const sizes = [64 * 1024, 64 * 1024 + 1, 2 * block - header, 2 * block, 2 * block + 1, 400_000].flatMap((size) => [
    size,
    size + header,
  ]);

  it.each(sizes)('of %d bytes are read by git and by zlib, small, large and without compression', async (size) => {
    const repository = temporaryDirectory();
    git(repository, ['init', '-q', '--bare', '.']);
    const content = Buffer.alloc(size, 'seldom the same, '.repeat(13));
    const objects = (['tree', 'blob'] as const).map((type) => ({
      oid: hashObject('sha1', type, content),
      type,
      content,
    }));
    await writeObjects(path.join(repository, 'objects'), objects);
    for (const { oid: id, type } of objects) {
      const file = readFileSync(path.join(repository, 'objects', id.slice(0, 2), id.slice(2)));
      expect(inflateSync(file).equals(Buffer.concat([Buffer.from(`${type} ${size}\0`), content]))).toBe(true);
      expect(git(repository, ['cat-file', '-s', id])).toBe(`${size}`);
    }
  });
});

describe('commits', () => {
  const draft = {
    tree: 'a'.repeat(40),
    parents: ['b'.repeat(40), 'c'.repeat(40)],
    author: { name: 'Ada', email: 'ada@example.org' },
    committer: { name: 'Portico', email: 'p@example.org' },
    date: new Date('2026-03-04T05:06:07.890Z'),
    message: 'Say hello\n\nWith a body\n\n',
  };

  it('come back as they were written', () => {
    expect(parseCommit('d'.repeat(40), formatCommit(draft))).toEqual({
      sha: 'd'.repeat(40),
      tree_sha: draft.tree,
      parents: draft.parents,
      message: 'Say hello\n\nWith a body',
      author: { ...draft.author, date: '2026-03-04T05:06:07Z' },
      committer: { ...draft.committer, date: '2026-03-04T05:06:07Z' },
    });
  });

  it('pass git fsck whatever the names and the message', () => {
    const repository = temporaryDirectory();
    git(repository, ['init', '-q', '--bare', '.']);
    const tree = git(repository, ['mktree'], '');
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.string({ unit: 'binary' }),
        fc.string({ unit: 'binary' }),
        (name, email, message) => {
          const content = formatCommit({ ...draft, tree, parents: [], author: { name, email }, message });
          // hash-object checks the object's format before it writes.
          expect(git(repository, ['hash-object', '-t', 'commit', '-w', '--stdin'], content)).toHaveLength(40);
        },
      ),
      { numRuns: rounds(15, 200) },
    );
    git(repository, ['fsck', '--strict', '--no-dangling']);
  });

  it('with nonsense for dates, zones and encodings are still read', () => {
    const raw = (author: string, more = '') =>
      Buffer.from(`tree ${draft.tree}\nauthor ${author}\ncommitter X <x@y> 1700000000 -0330\n${more}\nhi\n`, 'latin1');
    expect(parseCommit('e', raw('Zoe <z@y> 99999999999999 +9999')).author.date).toBe('1970-01-01T00:00:00Z');
    expect(parseCommit('e', raw('no mail at all')).author).toMatchObject({ name: 'no mail at all', email: '' });
    expect(parseCommit('e', raw('A <a@b> 0 +0000')).committer.date).toBe('2023-11-14T18:43:20-03:30');
    expect(parseCommit('e', raw('J\u00fcrgen <j@y> 0 +0000', 'encoding ISO-8859-1\n')).author.name).toBe('Jürgen');
    expect(parseCommit('e', raw('A <a@b> 0 +0000', 'encoding none-such\n')).message).toBe('hi');
  });

  it('name people by the first thousand characters', () => {
    const long = '漢'.repeat(100_000);
    const content = formatCommit({
      tree: 'a'.repeat(40),
      parents: [],
      author: { name: long, email: long },
      committer: { name: `${'a'.repeat(999)}😀`, email: 'a@b' },
      date: new Date(0),
      message: 'm',
    });
    const { author, committer } = parseCommit('e', content);
    expect([author.name.length, author.email.length]).toEqual([1_000, 1_000]);
    expect(committer.name).toBe(`${'a'.repeat(999)}\ufffd`);
  });
});
