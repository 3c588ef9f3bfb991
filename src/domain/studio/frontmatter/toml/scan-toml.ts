/** A value with its place in the source; lists and inline tables with their members. */
export interface TomlNode {
  start: number;
  end: number;
  /** Members of `[…]` by position, of `{…}` by name; undefined for a single value. */
  items?: TomlItem[];
  kind: 'scalar' | 'list' | 'table';
}

export interface TomlItem {
  start: number;
  end: number;
  /** Names of a member of `{…}`; more than one for a dotted key. */
  names: string[];
  node: TomlNode;
}

/** `key = value`, `[table]` or `[[list of tables]]`, with its path from the root; positions in lists of tables are names too. */
export interface TomlStatement {
  kind: 'pair' | 'table' | 'element';
  path: string[];
  /** How many names of a pair's path are its header's. */
  depth: number;
  start: number;
  end: number;
  node?: TomlNode;
}

/** Finds the statements of a document that a TOML parser has accepted; what is valid is not decided here. */
export function scanToml(source: string): TomlStatement[] {
  const scanner = new Scanner(source);
  const statements: TomlStatement[] = [];
  const counts = new Map<string, number>();
  let header: string[] = [];
  for (scanner.skipBlank(); !scanner.done; scanner.skipBlank()) {
    const start = scanner.at;
    const brackets = scanner.take(/\[{1,2}/y);
    if (brackets === '') {
      const names = scanner.key();
      scanner.take(/[ \t]*=[ \t]*/y);
      const node = scanner.value();
      statements.push({
        kind: 'pair',
        path: [...header, ...names],
        depth: header.length,
        start,
        end: scanner.at,
        node,
      });
      continue;
    }
    const names = scanner.key();
    scanner.take(/[ \t]*\]{1,2}/y);
    const element = brackets === '[[';
    header = [];
    names.forEach((name, at) => {
      header.push(name);
      const list = JSON.stringify(header);
      if (element && at === names.length - 1) counts.set(list, (counts.get(list) ?? -1) + 1);
      const position = counts.get(list);
      if (position !== undefined) header.push(String(position));
    });
    const kind = element ? 'element' : 'table';
    statements.push({ kind, path: header, depth: header.length, start, end: scanner.at });
  }
  return statements;
}

class Scanner {
  at = 0;
  private readonly source: string;

  constructor(source: string) {
    this.source = source;
  }

  get done(): boolean {
    return this.at >= this.source.length;
  }

  take(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const text = pattern.exec(this.source)?.[0] ?? '';
    this.at += text.length;
    return text;
  }

  skipBlank(): void {
    while (this.take(/[ \t\r\n]+|#[^\n]*/y) !== '');
  }

  key(): string[] {
    const names: string[] = [];
    do {
      this.take(/[ \t]*/y);
      const text = this.take(/"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z0-9_-]+/y);
      if (text === '') throw new RangeError(`no key at offset ${this.at}`);
      names.push(nameOf(text));
    } while (this.take(/[ \t]*\./y) !== '');
    return names;
  }

  value(): TomlNode {
    const start = this.at;
    const open = this.take(/[[{]/y);
    if (open === '') {
      const text = this.take(scalar).trimEnd();
      if (text === '') throw new RangeError(`no value at offset ${start}`);
      this.at = start + text.length;
      return { kind: 'scalar', start, end: this.at };
    }
    const items: TomlItem[] = [];
    for (this.skipBlank(); !this.done && this.take(/[\]}]/y) === ''; this.take(/,/y), this.skipBlank()) {
      const from = this.at;
      const names = open === '{' ? this.key() : [];
      this.take(/[ \t]*=[ \t]*/y);
      const node = this.value();
      items.push({ start: from, end: this.at, names, node });
      this.skipBlank();
    }
    return { kind: open === '[' ? 'list' : 'table', start, end: this.at, items };
  }
}

/** Multi-line strings may end in up to two quotes of their own; anything bare ends at a comma, bracket, comment or line end. */
const scalar =
  /"""(?:[^"\\]|\\[\s\S]|"{1,2}(?!"))*"{3,5}|'''(?:[^']|'{1,2}(?!'))*'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^,\]}#\r\n]+/y;

/** A basic string's escapes are JSON's, but for `\UXXXXXXXX` and `\e`, `\xXX` of TOML 1.1. */
function nameOf(text: string): string {
  if (text.startsWith("'")) return text.slice(1, -1);
  if (!text.startsWith('"')) return text;
  return text
    .slice(1, -1)
    .replace(/\\(?:U([0-9a-fA-F]{8})|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))/g, (_, ...groups) => {
      const [long, short, byte, char] = groups as (string | undefined)[];
      const code = long ?? short ?? byte;
      if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
      return { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', e: '\x1b' }[char ?? ''] ?? char ?? '';
    });
}
