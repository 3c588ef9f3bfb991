import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { checkAddress, checkPath, gitSettings, isGitDisguise } from '../../../src/domain/studio/path-rules.ts';
import { checkNewRefName, checkRefName, refNameProblem } from '../../../src/domain/studio/ref-name.ts';
import { DomainError } from '../../../src/kernel/errors.ts';
import { git, temporaryDirectory } from '../../support/git-store.ts';
import fc from '../../support/properties.ts';
import { rounds } from '../../support/rounds.ts';

function codeOf(run: () => unknown): string {
  try {
    run();
    return 'ok';
  } catch (error) {
    return error instanceof DomainError ? error.code : String(error);
  }
}

describe('checkRefName', () => {
  const status = (...args: string[]) => spawnSync('git', ['check-ref-format', ...args], { cwd: '/' }).status;

  it('agrees with git check-ref-format, and for new branches with its --branch', () => {
    const piece = fc.constantFrom(
      'a',
      'B',
      '0',
      '/',
      '.',
      '..',
      '-',
      '@',
      '{',
      '@{',
      '~',
      '^',
      ':',
      '?',
      '*',
      '[',
      '\\',
      ' ',
      '\t',
      '\u007f',
      'é',
      '"',
      "'",
      '$',
      '.lock',
      'HEAD',
      '#',
    );
    const names = fc.array(piece, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''));
    fc.assert(
      // `@{-1}` is a question about the reflog there, not a name.
      fc.property(
        names.filter((name) => !name.includes('@{-')),
        (name) => {
          expect([name, refNameProblem(name) === null]).toEqual([name, status(`refs/heads/${name}`) === 0]);
          const isTaken = codeOf(() => checkNewRefName('name', name)) === 'ok';
          // git takes `@` for a branch, and reads it as HEAD everywhere else; `a/HEAD` and `a/-b` are read so by what shows names in parts.
          const isAmbiguous = /(?:^|\/)(?:-|HEAD(?:\/|$))/.test(name);
          expect([name, isTaken]).toEqual([name, status('--branch', name) === 0 && name !== '@' && !isAmbiguous]);
        },
      ),
      { numRuns: rounds(80, 1_000) },
    );
  });

  it.each(['-h', '--upload-pack=x', 'HEAD', '@', 'a\u202eb', 'a\u200fb', 'a\u2069', 'a\u200bb', 'a\u0085b'])(
    '%s is the name of a branch, but of none that is made here',
    (name) => {
      expect(checkRefName('branch', name)).toBe(name);
      expect(codeOf(() => checkNewRefName('branch', name))).toBe('invalid_name');
    },
  );

  it.each([
    ...['FETCH_HEAD', 'ORIG_HEAD', 'MERGE_HEAD', 'CHERRY_PICK_HEAD', 'refs', 'refs/x', 'refs/heads/x', 'heads/x'],
    ...['a/-b', 'a/HEAD', 'HEAD/a'],
  ])('%s would be taken for another ref or an option, and is the name of none that is made here', (name) => {
    expect(checkRefName('branch', name)).toBe(name);
    expect(codeOf(() => checkNewRefName('branch', name))).toBe('invalid_name');
  });

  it.each(['ahead', 'HEADS', 'a/b-c', 'x/heads/y', 'feature/refs'])(
    '%s is the name of a branch that is made here',
    (name) => {
      expect(checkNewRefName('branch', name)).toBe(name);
    },
  );

  it('refuses what no file system can hold', () => {
    expect(checkRefName('branch', 'a'.repeat(250))).toHaveLength(250);
    expect(codeOf(() => checkRefName('branch', 'a'.repeat(251)))).toBe('invalid_name');
    expect(codeOf(() => checkRefName('branch', '\ud800'))).toBe('invalid_name');
    expect(codeOf(() => checkRefName('branch', 'a\0b'))).toBe('invalid_name');
    expect(codeOf(() => checkRefName('branch', ''))).toBe('invalid_name');
  });
});

describe('checkPath', () => {
  it('returns the path in NFC', () => {
    expect(checkPath('path', 'cafe\u0301/a.md')).toBe('caf\u00e9/a.md');
  });

  it.each([
    '',
    '/a',
    'a/',
    'a//b',
    '.',
    'a/./b',
    '..',
    'a/../b',
    'a\\b',
    'a\0',
    'a\nb',
    'a\u0085',
    '\udc00',
    '.git',
    'a/.GIT/b',
  ])('refuses %j, which could name something else', (path) => {
    expect(codeOf(() => checkPath('path', path))).toBe('invalid_path');
  });

  it.each([
    '.git ',
    '.git.',
    '.git . .',
    'GIT~1',
    '.git:x',
    '.git::$INDEX_ALLOCATION',
    '.g\u200cit',
    '\ufeff.git',
    '.gi\u206ft',
  ])('sees .git in %j', (segment) => {
    expect(isGitDisguise(segment)).toBe(true);
    expect(codeOf(() => checkPath('path', `a/${segment}/b`))).toBe('invalid_path');
  });

  it.each(['.gitignore', '.gitattributes', 'git', 'git~10', 'a.git', '.github', '...a'])('takes %j', (segment) => {
    expect(isGitDisguise(segment)).toBe(false);
    expect(checkPath('path', `a/${segment}`)).toBe(`a/${segment}`);
  });

  it('sees settings of git in letters that a file system folds to those of their names', () => {
    expect(gitSettings('.gitmodule\u017f')).toBe('modules');
    expect(gitSettings('.G\u0130TMODULES')).toBeNull();
  });

  it('sees settings of git in the directories in which git does', () => {
    const names = [
      ...[
        '.gitmodules',
        '.GitModules',
        '.gitmodules. ',
        '.gitmodules:x',
        '.git\u200cmodules',
        '.gitattributes',
        '.gitignore',
      ],
      ...[
        'gitmod~1',
        'GITMOD~4',
        'gitmod~0',
        'gitmod~5',
        'gitmod~12',
        'gitmod~1.',
        'gitmod~1:x',
        'gitmod1',
        'agitmod~1',
      ],
      ...['gi7eba~1', 'gi7eba~0', 'gi7eb~12', 'gi7e~123', 'gi7eb~01', '~1234567', 'gi7ebb~1', 'gi7eba~10', 'gi7d29~9'],
      ...['gitatt~1', 'GITATT~3', 'gitatt~9', 'gitign~1', 'gitmodules', '.gitmodule', '.github', 'git~10', 'posts~1'],
    ];
    const directory = temporaryDirectory();
    git(directory, ['init', '-q', '--bare', '.']);
    const blob = git(directory, ['hash-object', '-w', '--stdin'], 'x');
    const directories = names.map((name, index) => {
      const below = git(directory, ['mktree'], `100644 blob ${blob}\t${index}`);
      git(directory, ['mktree', '-z'], `040000 tree ${below}\t${name}\0`);
      return below;
    });
    const faults = spawnSync('git', ['fsck', '--strict'], { cwd: directory, encoding: 'utf8' }).stderr;
    // Of what is a directory in place of `.gitignore` git complains only when it is a symlink.
    for (const [index, name] of names.entries()) {
      if (gitSettings(name) === 'ignore') continue;
      const isFault = new RegExp(`in tree ${directories[index]}: git(modules|attributes)Blob`).test(faults);
      expect({ name, isFault }).toEqual({ name, isFault: gitSettings(name) !== null });
      if (isFault) expect(codeOf(() => checkPath('path', `a/${name}/b`))).toMatch(/^invalid_/);
    }
    expect(names.filter((name) => gitSettings(name) === 'ignore')).toEqual(['.gitignore', 'gitign~1']);
    expect(checkPath('path', 'a/gitmod~1')).toBe('a/gitmod~1');
  });

  it.each(['con', 'NUL.txt', 'a/com1', 'lpt9.md', 'aux ', 'a.', 'a /b', 'COM¹'])('finds %j unwise', (path) => {
    expect(codeOf(() => checkPath('path', path))).toBe('invalid_name');
  });

  it.each(['console', 'com10', 'nullable.md', 'com'])('finds nothing wrong with %j', (path) => {
    expect(checkPath('path', path)).toBe(path);
  });

  it('counts bytes of a segment up to 255', () => {
    expect(checkPath('path', 'é'.repeat(127))).toHaveLength(127);
    expect(checkPath('path', `${'é'.repeat(127)}a`)).toHaveLength(128);
    expect(codeOf(() => checkPath('path', 'é'.repeat(128)))).toBe('invalid_path');
  });

  it('counts bytes of the whole up to 4,096', () => {
    // Fifteen segments of 255 bytes and their slashes, and a last one that fills up.
    const start = `${'a'.repeat(255)}/`.repeat(15);
    expect(checkPath('path', `${start}b/${'c'.repeat(254)}`)).toHaveLength(4096);
    expect(codeOf(() => checkPath('path', `${start}b/${'c'.repeat(255)}`))).toBe('invalid_path');
  });

  it('counts the whole of an address up to 4,096, and looks at no segment of a longer one', () => {
    const address = `${'a/'.repeat(2047)}ab`;
    expect(checkAddress('path', address)).toBe(address);
    expect(() => checkAddress('path', `${address}c`)).toThrow('path: must be at most 4096 bytes long');
    expect(() => checkAddress('path', `${'a/'.repeat(4_000)}.git`)).toThrow('path: must be at most 4096 bytes long');
  });

  it('takes what is at most that long once it is normalised', () => {
    const decomposed = `${'e\u0301'.repeat(60)}/`.repeat(33);
    expect(checkPath('path', `${decomposed}x`)).toHaveLength(33 * 61 + 1);
    expect(() => checkPath('path', 'e\u0301'.repeat(4_097))).toThrow('path: must be at most 4096 bytes long');
  });

  it('names the field in its message', () => {
    expect(() => checkPath('media.path', '')).toThrow('media.path: must not be empty');
  });
});
