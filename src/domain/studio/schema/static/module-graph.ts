import { setYielding } from '../../../../lib/concurrency.ts';
import type { SiteFiles } from '../collection-schema.ts';
import type { Warning } from '../schema.schema.ts';
import { type Aliases, readAliases } from './aliases.ts';
import type { Module, ModuleGraph } from './module-scope.ts';
import { BudgetSpent, dataSteps } from './reading-budget.ts';
import { changedNames, MAX_SOURCE, type Program, parseModule } from './syntax.ts';
import { fromPlain } from './values.ts';

const MAX_FILES = 50;
const MAX_DEPTH = 8;
const extensions = [
  '',
  '.ts',
  '.mts',
  '.js',
  '.mjs',
  '.tsx',
  '.jsx',
  '.json',
  '/index.ts',
  '/index.js',
  '/index.mts',
  '/index.mjs',
];

/** `a/b` + `../c` → `a/c`; null when the path leaves the repository. */
export function resolvePath(directory: string, relative: string): string | null {
  const parts = directory === '' ? [] : directory.split('/');
  for (const part of relative.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return null;
  }
  return parts.join('/');
}

const directoryOf = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf('/')));

/** Packages that configurations import by far the most; they are never aliases. */
const packages = /^(astro(:|\/|$)|@astrojs\/|zod($|\/)|node:|@keystatic\/|tinacms|@nuxt\/|vitepress|@docusaurus\/)/;

/** The specifiers a module takes values from, but for well-known packages. */
function specifiersOf(program: Program): { specifier: string; line: number }[] {
  return program.body.flatMap((node) => {
    const values =
      (node.type === 'ImportDeclaration' && node.importKind !== 'type' && node.specifiers.length > 0) ||
      ((node.type === 'ExportNamedDeclaration' || node.type === 'ExportAllDeclaration') && node.exportKind !== 'type');
    const specifier = values && 'source' in node ? node.source?.value : undefined;
    return specifier !== undefined && !packages.test(specifier) ? [{ specifier, line: node.loc?.start.line ?? 1 }] : [];
  });
}

/**
 * Reads a configuration file and what it imports from files of the repository, by relative path or alias: at most 50 files, 8 imports deep, each
 * once (so cycles end). Nothing outside the tree can be named, and files are only parsed.
 */
export async function loadModules(
  entry: string,
  site: SiteFiles,
  warnings: Warning[],
  dependencies?: Set<string>,
): Promise<ModuleGraph> {
  const graph: ModuleGraph = new Map();
  const known = await setYielding(site.paths, ({ path }) => path);
  let aliases: Aliases | null = null;
  const expand = async (from: string, specifier: string): Promise<string[]> => {
    if (isRelative(specifier)) return [resolvePath(directoryOf(from), specifier)].filter((path) => path !== null);
    if (aliases === null) {
      const read = await readAliases(from, site, known);
      aliases = read.aliases;
      if (read.path !== null) dependencies?.add(read.path);
    }
    return aliases(specifier);
  };
  let level = [entry];
  for (let depth = 0; depth <= MAX_DEPTH && level.length > 0; depth++) {
    const next = new Set<string>();
    for (const path of level) {
      if (graph.has(path)) continue;
      if (graph.size >= MAX_FILES) {
        warnings.push({
          code: 'too_many_imports',
          message: `More than ${MAX_FILES} files are imported; the rest is not read`,
          path,
        });
        return graph;
      }
      const module = await loadModule(path, site, warnings);
      graph.set(path, module);
      for (const { specifier, line } of module.program ? specifiersOf(module.program) : []) {
        const target = locate(await expand(path, specifier), known);
        if (target === null && !isRelative(specifier)) continue;
        if (target === null)
          warnings.push({
            code: 'import_not_found',
            message: `"${specifier}" is no file of the repository`,
            path,
            line,
          });
        else {
          module.imports.set(specifier, target);
          next.add(target);
        }
      }
    }
    level = [...next];
  }
  return graph;
}

const isRelative = (specifier: string) => /^\.\.?(\/|$)/.test(specifier);

function locate(candidates: readonly string[], known: ReadonlySet<string>): string | null {
  for (const path of candidates) {
    const found = extensions.map((extension) => path + extension).find((candidate) => known.has(candidate));
    if (found !== undefined) return found;
    // TypeScript is imported under the name of the file it compiles to.
    const source = path.replace(/\.([mc]?)js$/, '.$1ts');
    if (known.has(source)) return source;
  }
  return null;
}

async function loadModule(path: string, site: SiteFiles, warnings: Warning[]): Promise<Module> {
  const module: Module = { path, program: null, data: null, changed: new Map(), imports: new Map() };
  const text = await site.read(path);
  if (text === null || text.length > MAX_SOURCE) {
    const message = text === null ? 'The file cannot be read' : `The file is larger than ${MAX_SOURCE / 1024} KiB`;
    warnings.push({ code: 'config_unreadable', message, path });
    return module;
  }
  try {
    if (path.endsWith('.json')) {
      if (site.budget?.parse(dataSteps(text)) === false) throw new BudgetSpent();
      module.data = fromPlain(JSON.parse(text), { path, line: 1 });
    } else {
      module.program = await parseModule(path, text, site.budget);
      module.changed = changedNames(module.program);
    }
  } catch (error) {
    warnings.push({ code: 'config_unreadable', ...syntaxFault(error), path });
  }
  return module;
}

function syntaxFault(error: unknown): { message: string; line?: number } {
  if (error instanceof BudgetSpent) return { message: error.message };
  const line = (error as { loc?: { line?: number } }).loc?.line;
  const message =
    error instanceof RangeError
      ? 'The code is nested too deeply'
      : `The code has a syntax error: ${(error as Error).message}`;
  return line === undefined ? { message } : { message, line };
}
