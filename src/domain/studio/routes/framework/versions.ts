import { literally } from '../../../text-pattern.ts';
import type { SiteFiles } from '../../schema/collection-schema.ts';
import { nearestFile } from './dependencies.ts';

/** Finds the locked version of a package in the text of a lock file. */
const lockFiles: Record<string, (text: string, name: string) => string | undefined> = {
  'package-lock.json': (text, name) =>
    new RegExp(`"node_modules/${literally(name)}":\\s*\\{\\s*"version":\\s*"([^"]{1,100})"`).exec(text)?.[1],
  'pnpm-lock.yaml': (text, name) => new RegExp(`^ {2}['"]?/?${literally(name)}@(\\d[^('":\\s]*)`, 'm').exec(text)?.[1],
  'yarn.lock': (text, name) =>
    new RegExp(`^"?${literally(name)}@[^\\n]*:\\n {2}version:? "?(\\d[^"\\n]*)`, 'm').exec(text)?.[1],
  'bun.lock': (text, name) => new RegExp(`"${literally(name)}": \\["${literally(name)}@(\\d[^"]*)"`).exec(text)?.[1],
  'Gemfile.lock': (text, name) => new RegExp(`^ {4}${literally(name)} \\((\\d[^)]*)\\)`, 'm').exec(text)?.[1],
};

/** The version of a package that the nearest lock file names; undefined without one, or when it is too large to read. */
export async function lockedVersion(
  site: SiteFiles,
  present: ReadonlySet<string>,
  directory: string,
  name: string,
): Promise<string | undefined> {
  const path = nearestFile(present, directory, Object.keys(lockFiles));
  const text = path === undefined ? null : await site.read(path);
  const find = path === undefined ? undefined : lockFiles[path.slice(path.lastIndexOf('/') + 1)];
  return text === null ? undefined : find?.(text.replaceAll('\r\n', '\n'), name);
}
