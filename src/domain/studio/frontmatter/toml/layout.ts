import { pointerTo } from '../values.ts';
import { refuse } from '../yaml/editing.ts';
import { lineAfter, lineStart } from '../yaml/layout.ts';
import { scanToml, type TomlStatement } from './scan-toml.ts';

/** Where the statements of a document lie, by path. */
export class TomlLayout {
  readonly statements: TomlStatement[];
  private readonly source: string;

  constructor(source: string) {
    this.source = source;
    this.statements = scanToml(source);
  }

  /** Whether the name at `at` of a path is a position in a list of tables. */
  isPosition(path: string[], at: number): boolean {
    return (
      at > 0 && this.statements.some(({ kind, path: own }) => kind === 'element' && equal(own, path.slice(0, at + 1)))
    );
  }

  /** The lines of one `[[table]]` with the tables below it, and the blank lines that part it from the next. */
  section(path: string[]): { start: number; end: number } {
    const first = this.statements.findIndex(({ kind, path: own }) => kind === 'element' && equal(own, path));
    const header = this.statements[first];
    if (header === undefined) return refuse(pointerOf(path), 'is not a table of its own');
    const rest = this.statements.slice(first + 1);
    const next = rest.findIndex(({ kind, path: own }) => kind !== 'pair' && !startsWith(own, path));
    const last = (next < 0 ? rest : rest.slice(0, next)).at(-1) ?? header;
    const end = lineAfter(this.source, last.end);
    const blank = next < 0 ? 0 : (/^(?:[ \t]*\r?\n)*/.exec(this.source.slice(end))?.[0].length ?? 0);
    return { start: this.linesStart(header), end: end + blank };
  }

  /** The statement's line, with the comment lines directly above it. */
  linesStart({ start }: TomlStatement): number {
    let at = lineStart(this.source, start);
    while (at > 0 && /^[ \t]*#/.test(this.source.slice(lineStart(this.source, at - 1), at)))
      at = lineStart(this.source, at - 1);
    return at;
  }
}

export function pointerOf(path: string[]): string {
  return path.reduce(pointerTo, '');
}

export function equal(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && startsWith(left, right);
}

export function startsWith(path: readonly string[], head: readonly string[]): boolean {
  return head.every((name, at) => path[at] === name);
}
