import { pointer, pointerTo, valueAt } from '../../../../lib/json-pointer.ts';
import { isRecord } from '../../../../lib/objects.ts';
import { type DateRule, deepEqual, type Frontmatter, type Read } from '../values.ts';
import { align } from '../yaml/align.ts';
import { editFlow, type FlowInsert } from '../yaml/edit-flow.ts';
import { applySplices, refuse, type Splice } from '../yaml/editing.ts';
import { numberText } from '../yaml/emit.ts';
import { lineAfter, lineStart } from '../yaml/layout.ts';
import { scanToml, type TomlItem, type TomlNode, type TomlStatement } from './scan-toml.ts';
import { readToml, tomlKey, tomlString, tomlText, tomlValue } from './toml.ts';

/** What a document has at one path. */
interface Spot {
  pair?: TomlStatement;
  header?: TomlStatement;
  /** Position of its `[[table]]` among all statements. */
  element?: number;
  /** The statements at the path and below. */
  below: TomlStatement[];
  /** The first and the last pair that the path's own header holds. */
  firstPair?: TomlStatement;
  lastPair?: TomlStatement;
  /** The last pair whose dotted key goes through the path. */
  lastDotted?: TomlStatement;
}

/** Where the statements of a document lie, by path. */
class TomlLayout {
  private readonly statements: TomlStatement[];
  private readonly spots = new Map<string, Spot>();
  private readonly source: string;

  constructor(source: string) {
    this.source = source;
    this.statements = scanToml(source);
    this.statements.forEach((statement, at) => {
      this.add(statement, at);
    });
  }

  private add(statement: TomlStatement, at: number): void {
    const { kind, path, depth } = statement;
    for (let length = 0, pointer = ''; ; pointer = pointerTo(pointer, path[length++] as string)) {
      const spot = this.spots.get(pointer) ?? { below: [] };
      this.spots.set(pointer, spot);
      spot.below.push(statement);
      if (kind === 'pair' && length === depth) {
        spot.firstPair ??= statement;
        spot.lastPair = statement;
      }
      if (kind === 'pair' && length > depth) spot.lastDotted = statement;
      if (length < path.length) continue;
      if (kind === 'pair') spot.pair ??= statement;
      else spot.header ??= statement;
      if (kind === 'element') spot.element ??= at;
      return;
    }
  }

  at(path: string[]): Readonly<Spot> {
    return this.spots.get(pointer(path)) ?? { below: [] };
  }

  /** Whether the name at `at` of a path is a position in a list of tables. */
  isPosition(path: string[], at: number): boolean {
    return at > 0 && this.at(path.slice(0, at + 1)).element !== undefined;
  }

  /** The lines of one `[[table]]` with the tables below it, and the blank lines that part it from the next. */
  section(path: string[]): { start: number; end: number } {
    const first = this.at(path).element;
    const header = first === undefined ? undefined : this.statements[first];
    if (first === undefined || header === undefined) return refuse(pointer(path), 'is not a table of its own');
    const isNext = ({ kind, path: own }: TomlStatement) => kind !== 'pair' && !startsWith(own, path);
    let next = first + 1;
    while (next < this.statements.length && !isNext(this.statements[next] as TomlStatement)) next++;
    const end = lineAfter(this.source, (this.statements[next - 1] as TomlStatement).end);
    const blank =
      next === this.statements.length ? 0 : (/^(?:[ \t]*\r?\n)*/.exec(this.source.slice(end))?.[0].length ?? 0);
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

function startsWith(path: readonly string[], head: readonly string[]): boolean {
  return head.every((name, at) => path[at] === name);
}

/**
 * A TOML scalar in the manner of the one it replaces (or stands beside): dates stay dates, floats stay floats, literal strings
 * stay literal and multi-line strings multi-line where the new value allows it.
 */
function tomlScalarLike(value: unknown, like: string, isDate: boolean, eol: string): string {
  if (typeof value === 'number') {
    const text = numberText(value);
    const float = /^[-+]?\d[\d_]*(?:\.|[eE])/.test(like);
    return float && Number.isSafeInteger(value) ? `${text}.0` : text;
  }
  if (typeof value !== 'string') return String(value);
  if ((isDate || /^(?:\d{4}-\d\d-\d\d|\d\d:\d\d)/.test(like)) && isTomlDate(value)) return value;
  if (/^(?:"""|''')/.test(like) && value.includes('\n') && eol === '\n') return multiLine(value);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a literal string cannot hold them
  const literal = /^'(?!'')/.test(like) && !/['\x00-\x1f\x7f]/.test(value) && value.isWellFormed();
  return literal ? `'${value}'` : tomlString(value);
}

/** Whether TOML reads the text as a date or time and gives the same text back. */
function isTomlDate(value: string): boolean {
  if (!/^(?:\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d.*)?|\d\d:\d\d:\d\d.*)$/.test(value)) return false;
  const read = readToml(`x = ${value}`);
  return read.ok && read.value.x === value;
}

/** Line ends stay as they are, all else is escaped as on one line. */
function multiLine(value: string): string {
  return `"""\n${value
    .split('\n')
    .map((line) => tomlString(line).slice(1, -1))
    .join('\n')}"""`;
}

interface TomlManner {
  eol: '\n' | '\r\n';
  isDate: DateRule;
}

/**
 * Source text of a TOML block that reads as `wanted`, changed only where it differs from what it says, and how it reads. The result is parsed again by `smol-toml`,
 * which has no part in finding the places.
 *
 * @throws DomainError `not_editable`, naming the key and the reason.
 */
export function editTomlSource(
  text: string,
  before: Read,
  wanted: Frontmatter,
  { eol, isDate }: TomlManner,
): { source: string; reading: Read } {
  const source = text === '' || text.endsWith('\n') ? text : text + eol;
  const edit = new TomlEdit(source, { eol, isDate });
  edit.table([], before.value, wanted);
  const result = applySplices(source, edit.splices);
  const after = result === undefined ? undefined : readToml(result);
  const touched = edit.touched[0] ?? '';
  if (result === undefined || !after?.ok || !deepEqual(after.value, wanted)) {
    return refuse(touched, 'the change would not read back as wanted');
  }
  const stillLossy = new Set(after.lossy);
  const lost = before.lossy.find((pointer) => !stillLossy.has(pointer) && typeof valueAt(wanted, pointer) === 'string');
  if (lost !== undefined && !edit.touched.includes(lost)) refuse(lost, 'a number JavaScript cannot hold would change');
  return { source: source === text ? result : result.replace(/\r?\n$/, ''), reading: after };
}

class TomlEdit {
  readonly splices: Splice[] = [];
  readonly touched: string[] = [];
  readonly manner: TomlManner;
  readonly source: string;
  private readonly layout: TomlLayout;

  constructor(source: string, manner: TomlManner) {
    this.source = source;
    this.manner = manner;
    this.layout = new TomlLayout(source);
  }

  /** A table made of statements: the root, or what headers and dotted keys build. */
  table(path: string[], old: Frontmatter, wanted: Frontmatter): void {
    for (const [key, value] of Object.entries(old)) {
      const member = [...path, key];
      if (!Object.hasOwn(wanted, key)) this.removeStatements(member);
      else if (!deepEqual(value, wanted[key])) this.member(member, value, wanted[key]);
    }
    const added = Object.keys(wanted).filter((key) => !Object.hasOwn(old, key));
    for (const key of added) this.addPair(path, key, wanted[key]);
  }

  private member(path: string[], old: unknown, wanted: unknown): void {
    const { pair } = this.layout.at(path);
    if (pair?.node !== undefined) {
      this.node(pair.node, old, wanted, path);
    } else if (isRecord(old) && isRecord(wanted) && this.outlives(path, old, wanted)) {
      this.table(path, old, wanted);
    } else if (Array.isArray(old) && Array.isArray(wanted) && wanted.length > 0 && wanted.every(isRecord)) {
      this.elements(path, old as Frontmatter[], wanted);
    } else {
      this.removeStatements(path); // tables give way to a value on one line
      this.addPair(path.slice(0, -1), path.at(-1) ?? '', wanted);
    }
  }

  /** Whether a table is still there without the keys it loses: one with no header of its own is made of its keys. */
  private outlives(path: string[], old: Frontmatter, wanted: Frontmatter): boolean {
    return this.layout.at(path).header !== undefined || Object.keys(old).some((key) => Object.hasOwn(wanted, key));
  }

  private node(node: TomlNode, old: unknown, wanted: unknown, path: string[]): void {
    if (deepEqual(old, wanted)) return;
    const { items } = node;
    if (node.kind === 'list' && Array.isArray(old) && Array.isArray(wanted) && items !== undefined) {
      this.list(node, items, old, wanted, path);
    } else if (
      node.kind === 'table' &&
      isRecord(old) &&
      isRecord(wanted) &&
      items?.every(({ names }) => names.length === 1)
    ) {
      this.inlineTable(node, items, old, wanted, path);
    } else {
      this.replace(node, wanted, path);
    }
  }

  private replace(node: TomlNode, wanted: unknown, path: string[]): void {
    this.touched.push(pointer(path));
    const text = this.source.slice(node.start, node.end);
    const like = node.kind === 'scalar' ? text : undefined;
    this.splices.push({ start: node.start, end: node.end, text: this.value(wanted, path, like) });
  }

  private value(wanted: unknown, path: string[], like?: string): string {
    if (typeof wanted === 'object') return tomlValue(wanted, false);
    return tomlScalarLike(wanted, like ?? '', this.manner.isDate(pointer(path), String(wanted)), this.manner.eol);
  }

  private list(node: TomlNode, items: TomlItem[], old: unknown[], wanted: unknown[], path: string[]): void {
    const { kept, moved } = align(old, wanted);
    const stays = new Set(kept);
    const removed = [...items.keys()].filter((at) => !stays.has(at));
    if (removed.length === items.length) {
      this.replace(node, wanted, path);
      return;
    }
    this.touched.push(pointer(path));
    const like = items.find(({ node: member }) => member.kind === 'scalar');
    const inserts: FlowInsert[] = [];
    let after = -1;
    kept.forEach((from, to) => {
      const member = [...path, String(to)];
      const source = items[from ?? moved[to] ?? -1];
      if (from !== undefined && source !== undefined) {
        after = from;
        this.node(source.node, old[from], wanted[to], member);
      } else {
        const style = like === undefined ? undefined : this.source.slice(like.start, like.end);
        const text =
          source === undefined ? this.value(wanted[to], member, style) : this.source.slice(source.start, source.end);
        inserts.push({ after, text, from: moved[to] });
      }
    });
    editFlow(this, { open: node.start, entries: items, removed, inserts });
  }

  private inlineTable(node: TomlNode, items: TomlItem[], old: Frontmatter, wanted: Frontmatter, path: string[]): void {
    const name = ({ names }: TomlItem) => names[0] ?? '';
    const removed = [...items.keys()].filter((at) => !Object.hasOwn(wanted, name(items[at] as TomlItem)));
    if (removed.length === items.length) {
      this.replace(node, wanted, path);
      return;
    }
    this.touched.push(pointer(path));
    for (const item of items) {
      if (Object.hasOwn(wanted, name(item)))
        this.node(item.node, old[name(item)], wanted[name(item)], [...path, name(item)]);
    }
    const gone = new Set(removed);
    const after = items.findLastIndex((_, at) => !gone.has(at));
    const added = Object.keys(wanted).filter((key) => !Object.hasOwn(old, key));
    const inserts = added.map((key) => ({
      after,
      text: `${tomlKey(key)} = ${this.value(wanted[key], [...path, key])}`,
    }));
    editFlow(this, { open: node.start, entries: items, removed, inserts });
  }

  /** A list of `[[tables]]`: whole sections are kept, moved, removed and added. */
  private elements(path: string[], old: Frontmatter[], wanted: Frontmatter[]): void {
    const { kept, moved } = align(old, wanted);
    const stays = new Set(kept);
    this.touched.push(pointer(path));
    let insertAt = this.layout.section([...path, '0']).start;
    kept.forEach((from, to) => {
      const section = from === undefined ? undefined : this.layout.section([...path, String(from)]);
      if (from !== undefined && section !== undefined) {
        this.table([...path, String(from)], old[from] ?? {}, wanted[to] ?? {});
        insertAt = section.end;
        return;
      }
      const own = moved[to] === undefined ? undefined : this.layout.section([...path, String(moved[to])]);
      const names = path.filter((_, at) => !this.layout.isPosition(path, at));
      const { eol } = this.manner;
      const text = own
        ? this.source.slice(own.start, own.end)
        : `[[${names.map(tomlKey).join('.')}]]${eol}${tomlText(wanted[to] ?? {}, eol, false, names)}`;
      this.splices.push({ start: insertAt, end: insertAt, text });
    });
    old.forEach((_, from) => {
      if (!stays.has(from)) this.splices.push({ ...this.layout.section([...path, String(from)]), text: '' });
    });
  }

  private removeStatements(path: string[]): void {
    this.touched.push(pointer(path));
    const found = this.layout.at(path).below;
    if (found.length === 0) refuse(pointer(path), 'stands inside a value that cannot be edited in place');
    let end = -1;
    for (const statement of found) {
      const lines = this.layout.linesStart(statement);
      // What parts the tables of one list goes with them.
      const start = end >= 0 && this.source.slice(end, lines).trim() === '' ? end : lines;
      end = lineAfter(this.source, statement.end);
      this.splices.push({ start, end, text: '' });
    }
  }

  /** Behind the last pair of the same table; the root's first pair goes to the top, since a header takes all that follows it. */
  private addPair(path: string[], key: string, value: unknown): void {
    this.touched.push(pointer([...path, key]));
    const { firstPair, lastPair, header } = this.layout.at(path);
    const last = lastPair ?? header;
    if (last === undefined && path.length > 0) {
      this.addDotted(path, key, value);
      return;
    }
    const at = last === undefined ? 0 : lineAfter(this.source, last.end);
    const indent =
      firstPair === undefined ? '' : this.source.slice(lineStart(this.source, firstPair.start), firstPair.start);
    const text = `${indent}${tomlKey(key)} = ${this.value(value, [...path, key])}${this.manner.eol}`;
    this.splices.push({ start: at, end: at, text });
  }

  /** A table without a header of its own exists through dotted keys (`a.b = 1`) or through the headers below it. */
  private addDotted(path: string[], key: string, value: unknown): void {
    const { lastDotted: sibling, below } = this.layout.at(path);
    const { eol } = this.manner;
    if (sibling !== undefined) {
      const names = [...path.slice(sibling.depth), key].map(tomlKey).join('.');
      const at = lineAfter(this.source, sibling.end);
      this.splices.push({ start: at, end: at, text: `${names} = ${this.value(value, [...path, key])}${eol}` });
      return;
    }
    const first = below[0];
    if (first === undefined) refuse(pointer(path), 'has no place where a key could be added');
    const names = path.filter((_, at) => !this.layout.isPosition(path, at));
    const at = this.layout.linesStart(first);
    const text = `[${names.map(tomlKey).join('.')}]${eol}${tomlKey(key)} = ${this.value(value, [...path, key])}${eol}${eol}`;
    this.splices.push({ start: at, end: at, text });
  }
}
