/**
 * Holds the regular expressions of src/ to linear time: texts come from repositories, crawled pages and requests, and one of a megabyte must not
 * hold the event loop. A pattern such as `x+$` begins anew at each `x` of a long run; `(?<!x)x+$` begins at the first alone.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from '@babel/parser';
import { analyse, type Report } from 'scslre';

interface Pattern {
  source: string;
  flags: string;
  line: number;
}

/** Texts of these are short and our own: what git says of itself and of a diff, what is stored of a password, settings. */
const ofOurOwn: ReadonlySet<string> = new Set([
  String.raw`(\d+) files? changed`,
  String.raw`(\d+) insertion`,
  String.raw`(\d+) deletion`,
  String.raw`\d+\.\d+(\.\d+)*`,
  String.raw`^\s*objectFormat\s*=\s*sha256\s*$`,
  String.raw`(\d+)\t[^\t]*$`,
  '[A-Za-z]+$',
  '=+$',
]);

/** The bound on a text is in the code beside these: names of files and of machines, 256 characters before a value. */
const ofBoundedText: ReadonlySet<string> = new Set([
  '^-+|-+$',
  '^[.-]+|-+$',
  String.raw`^\d+[-_.]\d+.*$`,
  String.raw`(?:[&!][^\s,[\]{}]*[ \t]+)+$`,
]);

/** All regular expressions that are written as such in a module. @param isTsx whether it may hold elements */
export function patternsOf(text: string, isTsx = false): Pattern[] {
  const found: Pattern[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { type, pattern, flags, loc } = node as Record<string, unknown> & { loc?: { start: { line: number } } };
    if (type === 'RegExpLiteral')
      found.push({ source: String(pattern), flags: String(flags), line: loc?.start.line ?? 0 });
    else Object.values(node).forEach(visit);
  };
  visit(parse(text, { sourceType: 'module', plugins: isTsx ? ['typescript', 'jsx'] : ['typescript'] }).program.body);
  return found;
}

const reasons: Record<Report['type'], string> = {
  Move: 'begins anew within a run it has failed on',
  Self: 'has a loop that takes the same text in several ways',
  Trade: 'has two loops that can share one text in any proportion',
};

/** Why a pattern may take more than linear time; null when it does not. */
export function patternProblem({ source, flags }: Pick<Pattern, 'source' | 'flags'>): string | null {
  if (ofOurOwn.has(source) || ofBoundedText.has(source)) return null;
  const [report] = analyse({ source, flags }, { assumeRejectingSuffix: false, maxReports: 1 }).reports;
  return report === undefined ? null : reasons[report.type];
}

if (import.meta.main) {
  const root = path.join(import.meta.dirname, '../src');
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name));
  for (const name of names.sort()) {
    const patterns = patternsOf(readFileSync(path.join(root, name), 'utf8'), name.endsWith('x'));
    for (const pattern of patterns) {
      const problem = patternProblem(pattern);
      if (problem === null) continue;
      process.stderr.write(
        `src/${name}:${pattern.line}: /${pattern.source}/ ${problem}; it takes more than linear time\n`,
      );
      process.exitCode = 1;
    }
  }
}
