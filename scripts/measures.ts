/**
 * The measures of the house: how many files, how small, how entangled, and how often the text falls back into words of our own.
 * `npm run check -- --measures` prints them beside where they should stand.
 */
import path from 'node:path';
import { circlesOf, importsOf, readSources } from './check-imports.ts';

/** One line of the table: what is measured, how it stands, and its limit. */
export interface Measure {
  name: string;
  value: number;
  limit: number;
  /** Where to look first, at most ten places. */
  places: string[];
}

/** Words that stand for a term of the field. Those with an ordinary meaning too are matched where they mean ours. */
const ownWords = [
  ...[
    'told',
    'heard?',
    'heed\\w*',
    'asked',
    'nobody',
    'whoever',
    'those who',
    'those that',
    'bells?',
    'census',
    'doors?',
  ],
  ...[
    'in turns',
    'a turn',
    'turns',
    'few at once',
    'slices?',
    'guides?',
    'by shares',
    'written forms?',
    'there is none',
  ],
];
const ownWord = new RegExp(`\\b(?:${ownWords.join('|')})\\b`, 'gi');

/** Comments, texts in quotes, and names in camel case as separate words. */
function proseOf(text: string): string {
  return text
    .replace(/^import[\s\S]*?from '.*';$/gm, '')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replace(/\.slice\(/g, '(');
}

/** A migration is a file of its own, however short. */
const isMigration = (file: string) => file.includes('/migrations/');

/** Folders that may be long: one file a port, a table or a migration. */
const mayBeLong = (folder: string) =>
  folder.endsWith('/ports') || folder.includes('/migrations') || folder.endsWith('/tables');

/**
 * Measures sources.
 * @param files text by path, such as `src/rest/router.ts`
 */
export function measure(files: ReadonlyMap<string, string>): Measure[] {
  const graph = new Map<string, string[]>();
  const importers = new Map<string, string[]>();
  const folders = new Map<string, string[]>();
  const small: string[] = [];
  const wordy: { file: string; count: number }[] = [];
  let lines = 0;
  for (const [file, text] of files) {
    const folder = path.posix.dirname(file);
    const targets = importsOf(text)
      .filter(({ specifier }) => specifier.startsWith('.'))
      .map(({ specifier }) => path.posix.normalize(path.posix.join(folder, specifier)))
      .filter((target) => files.has(target));
    graph.set(file, [...new Set(targets)]);
    for (const target of new Set(targets)) importers.set(target, [...(importers.get(target) ?? []), file]);
    folders.set(folder, [...(folders.get(folder) ?? []), file]);
    const length = text.split('\n').length - 1;
    lines += length;
    if (length <= 20 && !isMigration(file)) small.push(file);
    wordy.push({ file, count: proseOf(text).match(ownWord)?.length ?? 0 });
  }
  const fragments = [...importers].flatMap(([file, [only, ...others]]) =>
    only && others.length === 0 && !isMigration(file) && path.posix.dirname(only) === path.posix.dirname(file)
      ? [file]
      : [],
  );
  const long = [...folders].filter(([folder, members]) => members.length > 15 && !mayBeLong(folder));
  const circles = circlesOf(graph);
  const mostWords = wordy.filter(({ count }) => count > 0).sort((a, b) => b.count - a.count);
  const row = (name: string, value: number, limit: number, places: string[] = []): Measure => ({
    name,
    value,
    limit,
    places: places.slice(0, 10),
  });
  return [
    row('files', files.size, 850),
    row('lines', lines, 78_000),
    row('files with one importer, in their own folder', fragments.length, 60, fragments),
    row('files of at most 20 lines', small.length, 25, small),
    row(
      'folders with more than 15 files',
      long.length,
      0,
      long.map(([folder, members]) => `${folder}: ${members.length}`),
    ),
    row('files in the largest import circle', circles[0]?.length ?? 0, 3, circles[0]),
    row(
      'words of our own for terms of the field',
      wordy.reduce((sum, { count }) => sum + count, 0),
      20,
      mostWords.map(({ file, count }) => `${file}: ${count}`),
    ),
  ];
}

/** The limits are those of the server; the dashboard, a program of its own, came after them. */
const isServer = (file: string) => !file.startsWith('src/dashboard/');

if (import.meta.main && process.argv.includes('--measures')) {
  const sources = [...readSources(path.join(import.meta.dirname, '..'))].filter(([file]) => isServer(file));
  for (const { name, value, limit, places } of measure(new Map(sources))) {
    process.stdout.write(`${String(value).padStart(6)} of at most ${String(limit).padEnd(6)} ${name}\n`);
    if (value > limit) for (const place of places) process.stdout.write(`${' '.repeat(25)}${place}\n`);
  }
}
