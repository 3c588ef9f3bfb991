import { git } from './git-store.ts';

type Content = string | null | { mode: string; text: string };

/**
 * Commits files on top of `parent` (null: a root) behind the store's back, through a scratch index. null deletes.
 *
 * @returns the commit's id
 */
export function commitFiles(gitDir: string, parent: string | null, files: Record<string, Content>): string {
  const index = ['--git-dir', gitDir, '-c', 'core.bare=false'];
  if (parent === null) git(gitDir, [...index, 'read-tree', '--empty']);
  else git(gitDir, [...index, 'read-tree', parent]);
  // Thousands of files of one text are made by one process of git.
  const stored = new Map<string, string>();
  const store = (text: string) => {
    const oid = stored.get(text) ?? git(gitDir, ['hash-object', '-w', '--stdin'], text);
    stored.set(text, oid);
    return oid;
  };
  const lines = Object.entries(files).map(([path, content]) => {
    if (content === null) return `0 ${'0'.repeat(40)}\t${path}\0`;
    const { mode, text } = typeof content === 'string' ? { mode: '100644', text: content } : content;
    return `${mode} ${store(text)}\t${path}\0`;
  });
  git(gitDir, [...index, 'update-index', '-z', '--index-info'], lines.join(''));
  const tree = git(gitDir, [...index, 'write-tree']);
  return git(gitDir, ['commit-tree', tree, '-m', 'by hand', ...(parent === null ? [] : ['-p', parent])]);
}

/**
 * Commits one text of a file after the other on top of `parent`, all by one process of git.
 *
 * @returns the last commit's id
 */
export function commitChain(gitDir: string, parent: string, file: string, texts: readonly string[]): string {
  const ref = 'refs/scratch/chain';
  const size = (text: string) => Buffer.byteLength(text);
  const commits = texts.map((text, at) => {
    const from = at === 0 ? `from ${parent}\n` : '';
    const head = `commit ${ref}\ncommitter Stock <stock@example.org> ${1_700_000_000 + at} +0000\ndata 7\nby hand\n${from}`;
    return `${head}M 100644 inline ${file}\ndata ${size(text)}\n${text}\n`;
  });
  git(gitDir, ['fast-import', '--quiet'], commits.join(''));
  const tip = git(gitDir, ['rev-parse', ref]);
  git(gitDir, ['update-ref', '-d', ref]);
  return tip;
}

export function setRef(gitDir: string, ref: string, oid: string): string {
  git(gitDir, ['update-ref', ref, oid]);
  return oid;
}

export function blobOf(gitDir: string, treeish: string, path: string): string {
  return git(gitDir, ['rev-parse', `${treeish}:${path}`]);
}

/** Lines `1` to `count`, some of them replaced. */
export function lines(count: number, replaced: Record<number, string> = {}): string {
  return Array.from({ length: count }, (_, at) => `${replaced[at + 1] ?? at + 1}\n`).join('');
}
