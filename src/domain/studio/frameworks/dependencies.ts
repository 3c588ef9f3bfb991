import { isRecord } from '../../../lib/objects.ts';
import type { SiteFiles } from '../schema/collection-schema.ts';
import { joinPath } from '../schema/site-layout.ts';
import { manifestCharacters } from '../schema/static/reading-budget.ts';
import type { Ecosystem } from './frameworks.ts';

/** One dependency as a manifest names it; `range` is empty when it names none. */
interface Dependency {
  name: string;
  range: string;
}

/** What a package manifest says, as far as frameworks are concerned. */
export interface Manifest {
  path: string;
  directory: string;
  ecosystem: Ecosystem;
  dependencies: readonly Dependency[];
  /** Names of the scripts of `package.json`. */
  scripts: readonly string[];
}

const ecosystems: Record<string, Ecosystem> = {
  'package.json': 'node',
  Gemfile: 'ruby',
  'pyproject.toml': 'python',
  'requirements.txt': 'python',
  'go.mod': 'go',
};

/** Whether a file name is that of a manifest. */
export const isManifest = (name: string) => Object.hasOwn(ecosystems, name);

const keysOf = (value: unknown): [string, unknown][] => (isRecord(value) ? Object.entries(value) : []);

function readPackageJson(text: string): Pick<Manifest, 'dependencies' | 'scripts'> {
  let data: unknown;
  try {
    data = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    // A broken manifest names nothing; the package manager reports it to people who build the site.
    return { dependencies: [], scripts: [] };
  }
  const members = new Map(keysOf(data));
  const groups = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'];
  const dependencies = groups.flatMap((group) =>
    keysOf(members.get(group)).map(([name, range]) => ({ name, range: typeof range === 'string' ? range : '' })),
  );
  return { dependencies, scripts: keysOf(members.get('scripts')).map(([name]) => name) };
}

/** One dependency per line; what cannot be understood names nothing. */
function readLines(text: string, line: RegExp): Dependency[] {
  return text.split(/\r?\n/).flatMap((one) => {
    const [, name, range] = line.exec(one.slice(0, 500)) ?? [];
    return name === undefined ? [] : [{ name: name.toLowerCase(), range: range ?? '' }];
  });
}

const lines: Record<string, RegExp> = {
  Gemfile: /^\s*gem(?:\s*\()?\s*["']([\w-]+)["'](?:\s*,\s*["']([^"']+)["'])?/,
  'requirements.txt': /^\s*([A-Za-z][\w.-]*)(?:\[[^\]]*\])?\s*((?:[=~<>!]=?|===)[^;#\s]+)?/,
  'pyproject.toml':
    /^\s*["']?([A-Za-z][\w.-]*)(?![\w.-])(?:\[[^\]]*\])?["']?\s*(?:=\s*["'])?([\^~=<>!][^"',]*|\d[^"',]*)?["',]/,
  'go.mod': /^\s*(?:require\s+)?((?=[\w-]*\.)[\w.-]+\/\S+)\s+(v\S+)/,
};

/** Reads one manifest; null when it is not text. */
export async function readManifest(site: SiteFiles, path: string): Promise<Manifest | null> {
  const text = await site.read(path);
  const slash = path.lastIndexOf('/');
  const name = path.slice(slash + 1);
  const ecosystem = ecosystems[name];
  if (text === null || ecosystem === undefined) return null;
  if (site.budget?.parse(Math.ceil(text.length / manifestCharacters)) === false) return null;
  const directory = path.slice(0, Math.max(0, slash));
  const pattern = lines[name];
  const read = pattern ? { dependencies: readLines(text, pattern), scripts: [] } : readPackageJson(text);
  return { path, directory, ecosystem, ...read };
}

/** The directory itself and all above it, the deepest first. */
export function directoriesUp(directory: string): string[] {
  const parts = directory === '' ? [] : directory.split('/');
  return [...parts.keys(), parts.length].toReversed().map((count) => parts.slice(0, count).join('/'));
}

/** The first of the files there is, in a directory or the nearest one above it. */
export function nearestFile(
  present: ReadonlySet<string>,
  directory: string,
  names: readonly string[],
): string | undefined {
  const candidates = directoriesUp(directory).flatMap((one) => names.map((name) => joinPath(one, name)));
  return candidates.find((path) => present.has(path));
}
