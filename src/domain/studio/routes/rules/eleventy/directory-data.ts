import { isRecord } from '../../../frontmatter/values.ts';
import { readCodeConfig, readDataConfig } from '../../../schema/config/config-file.ts';
import { below, joinPath } from '../../../schema/site-layout.ts';
import { entriesOf } from '../../../schema/static/read-value.ts';
import { plain } from '../../../schema/static/values.ts';
import { directoryOf, nameOf } from '../paths.ts';
import type { RouteReading } from '../rule.ts';

const maxFiles = 300;
const dataFile = /\.11tydata\.(json|js|cjs|mjs)$/;

/** Frontmatter that directories and files beside them give to pages; the nearest wins. `unclear`: keys whose value is code. */
export interface DirectoryData {
  of(stem: string): { values: Record<string, unknown>; unclear: boolean };
}

/** Reads data files below the input directory: `posts/posts.json`, `posts/posts.11tydata.js`, `posts/a.11tydata.json`. */
export async function readDirectoryData(reading: RouteReading, input: string): Promise<DirectoryData> {
  const known = new Map<string, { values: Record<string, unknown>; unclear: boolean }>();
  const files = reading.paths.filter((path) => {
    const rest = below(input, path);
    if (rest === null || rest.includes('node_modules/')) return false;
    return dataFile.test(path) || (path.endsWith('.json') && nameOf(path) === `${nameOf(directoryOf(path))}.json`);
  });
  for (const path of files.slice(0, maxFiles)) {
    const data = await readOne(path, reading);
    const target = joinPath(
      directoryOf(path),
      nameOf(path)
        .replace(dataFile, '')
        .replace(/\.json$/, ''),
    );
    // `posts/posts` stands for the directory; a file of that name is in it.
    const key =
      nameOf(directoryOf(path)) === nameOf(target) || directoryOf(path) === '' ? `${directoryOf(path)}/` : target;
    const before = known.get(key);
    known.set(key, {
      values: { ...before?.values, ...data.values },
      unclear: (before?.unclear ?? false) || data.unclear,
    });
  }
  return {
    of(stem) {
      const parts = directoryOf(stem).split('/').filter(Boolean);
      const keys = [...parts.map((_, at) => `${parts.slice(0, at + 1).join('/')}/`), stem];
      const found = keys.flatMap((key) => known.get(key) ?? []);
      return {
        values: Object.assign({}, ...found.map(({ values }) => values)),
        unclear: found.some(({ unclear }) => unclear),
      };
    },
  };
}

const wanted = ['permalink', 'draft', 'eleventyComputed', 'pagination'];

async function readOne(path: string, reading: RouteReading) {
  const quiet = { ...reading, warnings: [] };
  const value = path.endsWith('.json') ? await readDataConfig(path, quiet) : (await readCodeConfig(path, quiet)).value;
  const values: Record<string, unknown> = {};
  let unclear = value !== null && value.kind !== 'record';
  for (const [key, part] of entriesOf(value ?? undefined)) {
    if (!wanted.includes(key)) continue;
    const data = plain(part);
    if (data === undefined) unclear = true;
    else if (key === 'eleventyComputed' && isRecord(data)) Object.assign(values, data);
    else values[key] = data;
  }
  return { values, unclear };
}
