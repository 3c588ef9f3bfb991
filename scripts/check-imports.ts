/**
 * Holds src/ to its one rule of direction, and to small circles:
 * `main → server → {rest, graphql, mcp, git-http, preview, cli, jobs} → domain → kernel → ports ← {engines, db}`; everything may import `lib`.
 * Run by node itself (`node scripts/check-imports.ts`); needs no package.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

interface Import {
  specifier: string;
  /** False for `import type`, which leaves nothing behind at run time and so cannot close a cycle. */
  isValue: boolean;
}

/** What the domain never touches itself: transports, processes and the queue stand behind ports. */
const foreignToDomain = ['express', 'graphql', '@apollo/server', 'pg-boss', 'undici'];
const foreignModules = ['http', 'https', 'http2', 'net', 'tls', 'child_process', 'cluster', 'worker_threads'];

// Formatted code begins every import and export at the start of a line; text in strings and comments does not.
const statement = /^(?:import|export)\s+(type\s+)?(?:[^'"`;]*?\sfrom\s+)?['"]([^'"\n]+)['"]/gm;
const dynamic = /\bimport\(\s*['"]([^'"\n]+)['"]\s*\)/g;

/** What a file imports and re-exports, types included; `specifier` as it is written. */
export function importsOf(text: string): Import[] {
  const code = text.replace(/^\s*(?:\/\/.*|\/\*[\s\S]*?\*\/)$/gm, '');
  const found = [...code.matchAll(statement)].map((match) => ({ specifier: match[2] ?? '', isValue: !match[1] }));
  return [...found, ...[...code.matchAll(dynamic)].map((match) => ({ specifier: match[1] ?? '', isValue: true }))];
}

/** The part of the house a file stands in; '' for the composition-level files directly in src/. */
function partOf(file: string): string {
  const [first = '', second = '', third] = file.split('/').slice(1);
  if (first === 'engines' && third !== undefined) return `engines/${second}`;
  return second === '' ? '' : first;
}

const isPackage = (specifier: string, name: string) => specifier === name || specifier.startsWith(`${name}/`);

/** Why a file must not import a library; null when it may. */
function libraryProblem(file: string, specifier: string): string | null {
  if (!['domain', 'kernel'].includes(partOf(file))) return null;
  const module = specifier.replace(/^node:/, '');
  const isForeign =
    foreignToDomain.some((name) => isPackage(specifier, name)) ||
    foreignModules.some((name) => isPackage(module, name));
  return isForeign ? 'the domain reaches it only through a port' : null;
}

/** What each part may import beside itself; the composition imports anything. */
const inner: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  ports: ['lib'],
  kernel: ['ports', 'lib'],
  domain: ['kernel', 'ports', 'lib'],
  // It is a program of its own, which depends on the server only by its schema.
  dashboard: ['lib'],
};
const outer = ['domain', 'kernel', 'ports', 'lib'];
const composition = new Set(['', 'server']);

/** Stands at the top for its own command; it names all entities, and the database's part opens the mapper with it. */
const mapperConfig = 'mikro-orm.config.ts';

/** Why a file must not import another file of ours; null when it may. */
function fileProblem(file: string, target: string): string | null {
  const [from, to] = [partOf(file), partOf(target)];
  if (target === mapperConfig && from === 'db') return null;
  if (!target.startsWith('src/')) return 'it is outside of src/';
  if (composition.has(from) || from === to) return null;
  const allowed = inner[from] ?? outer;
  // The command line is a way to start the process, as main is.
  if (allowed.includes(to) || (from === 'cli' && composition.has(to))) return null;
  return `${from} imports only itself${allowed.map((part) => `, ${part}`).join('')}`;
}

/** Cycles among value imports, each once, as a path of files. */
function cyclesIn(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const cycles: string[] = [];
  const state = new Map<string, 'open' | 'done'>();
  const trail: string[] = [];
  const visit = (file: string): void => {
    if (state.get(file) === 'done') return;
    if (state.get(file) === 'open') {
      cycles.push(`${[...trail.slice(trail.indexOf(file)), file].join(' → ')}: a cycle`);
      return;
    }
    state.set(file, 'open');
    trail.push(file);
    for (const target of graph.get(file) ?? []) visit(target);
    trail.pop();
    state.set(file, 'done');
  };
  for (const file of graph.keys()) visit(file);
  return cycles;
}

/** Files that reach each other by imports, types included; only circles of more than one file, largest first. */
export function circlesOf(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  // Tarjan, 1972: depth-first search and linear graph algorithms.
  const circles: string[][] = [];
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const isOpen = new Set<string>();
  const visit = (file: string): void => {
    order.set(file, order.size);
    lowest.set(file, order.size - 1);
    open.push(file);
    isOpen.add(file);
    for (const target of graph.get(file) ?? []) {
      if (!order.has(target)) visit(target);
      if (isOpen.has(target)) lowest.set(file, Math.min(lowest.get(file) ?? 0, lowest.get(target) ?? 0));
    }
    if (lowest.get(file) !== order.get(file)) return;
    const circle = open.splice(open.indexOf(file));
    for (const member of circle) isOpen.delete(member);
    if (circle.length > 1) circles.push(circle);
  };
  for (const file of graph.keys()) if (!order.has(file)) visit(file);
  return circles.sort((a, b) => b.length - a.length);
}

/** Files that may lead back to one another, where some of their imports are types only. */
const largestCircle = 3;

/**
 * Finds every import that goes against the direction of the house, every cycle of values, and every circle of more than three files, types counted.
 * @param files text by path, such as `src/rest/router.ts`
 * @returns one line per fault; none when all is well
 */
export function checkImports(files: ReadonlyMap<string, string>): string[] {
  const faults: string[] = [];
  const graph = new Map<string, string[]>();
  const withTypes = new Map<string, string[]>();
  for (const [file, text] of files) {
    const targets: string[] = [];
    const all: string[] = [];
    for (const { specifier, isValue } of importsOf(text)) {
      const isOurs = specifier.startsWith('.') || specifier.startsWith('/');
      if (specifier.endsWith('.css')) continue;
      const target = isOurs ? path.posix.normalize(path.posix.join(path.posix.dirname(file), specifier)) : null;
      const problem = target === null ? libraryProblem(file, specifier) : fileProblem(file, target);
      if (problem !== null) faults.push(`${file} imports ${target ?? specifier}: ${problem}`);
      if (target === null) continue;
      if (problem === null && target !== mapperConfig && !files.has(target))
        faults.push(`${file} imports ${target}: no such file`);
      else {
        all.push(target);
        if (isValue) targets.push(target);
      }
    }
    graph.set(file, targets);
    withTypes.set(file, all);
  }
  const large = circlesOf(withTypes).filter(({ length }) => length > largestCircle);
  const circles = large.map(
    (circle) =>
      `${circle.sort().join(', ')}: a circle of ${circle.length} files, types counted; at most ${largestCircle}`,
  );
  return [...faults, ...cyclesIn(graph), ...circles];
}

/** All TypeScript files below `<root>/src`, by path from the root. */
export function readSources(root: string): Map<string, string> {
  const names = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => /\.tsx?$/.test(name)).map((name) => `src/${name.split(path.sep).join('/')}`);
  return new Map(files.sort().map((file) => [file, readFileSync(path.join(root, file), 'utf8')]));
}

if (import.meta.main) {
  const faults = checkImports(readSources(path.join(import.meta.dirname, '..')));
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  process.exitCode = faults.length > 0 ? 1 : 0;
}
