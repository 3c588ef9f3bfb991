import { pointerTo, valueAt } from '../../../lib/json-pointer.ts';
import { comparableText } from '../../../lib/text.ts';
import {
  type AnnotatedPage,
  type PageBlock,
  type PageReading,
  type PageSource,
  shownText,
} from '../../../ports/page-annotator.ts';
import { parseFile } from '../frontmatter/parse-file.ts';
import { splitFile } from '../frontmatter/split.ts';
import type { Frontmatter } from '../frontmatter/values.ts';
import { linesOf, numberLines } from '../merge/diff3.ts';
import { diffLines } from '../merge/line-diff.ts';
import { alignPage, isShownAs, type Match } from './align-page.ts';
import { type Leaf, leavesOf, type Page, selectorOf } from './page-leaves.ts';
import { entryMarked, type PageMark } from './page-marks.ts';
import { blocksOfFile, dialectOf, type SourceBlock } from './source-blocks.ts';

/** Fewer blocks than this share: the page shows the file in a way that is not understood. */
export const leastAligned = 0.7;

/** Most blocks of a page; others are left out. */
export const mostBlocks = 10_000;

/** Characters of an address, a name or a heading, and of a pointer; what is longer is left out. */
const most = { name: 8_192, pointer: 1_000 };

const isNamed = (text: string | null): text is string => text !== null && text.length <= most.name;

/** Reads a page, and finds on it the blocks of the file it was built of and the fields of its frontmatter. */
export function readPage(html: string, source: PageSource | null): PageReading {
  const page = leavesOf(html);
  const { canonical, leaves, elements, marks } = page;
  const headings = leaves.filter(({ element }) => elements[element]?.tag === 'h1').map(({ text }) => text);
  const marked = entryMarked(marks);
  return {
    canonical: isNamed(canonical) ? canonical : null,
    marked: isNamed(marked) ? marked : null,
    headings: headings.filter(isNamed).slice(0, 10),
    annotated: source && annotate(page, source),
  };
}

function annotate(page: Page, { path, entry, framework, built, current }: PageSource): AnnotatedPage {
  const definitions = page.elements.some(({ tag }) => tag === 'dd');
  const blocks = blocksOfFile(built, path, { ...dialectOf(framework, path), definitions });
  const ofEntry = page.marks.filter((mark) => mark.entry === null || mark.entry === path || mark.entry === entry);
  const marked = matchesMarked(blocks, page, ofEntry, path);
  const matches = withMarked(marked, alignPage(blocks, page));
  const carry = carried(built, current);
  const first = Math.min(...matches.map(({ leaf }) => leaf), page.leaves.length);
  const taken = new Set(matches.map(({ leaf }) => leaf));
  const frontmatter = parseFile(Buffer.from(built), path).frontmatter ?? {};
  const now = current === null ? null : parseFile(Buffer.from(current), path).frontmatter;
  const lines = frontmatterLines(current, path);
  const found: PageBlock[] = [];
  const add = (place: Place | null, block: Omit<PageBlock, keyof Place>) => {
    if (place !== null && found.length < mostBlocks) found.push({ ...place, ...block });
  };
  const addField = (place: Place | null, pointer: string, value: string) => {
    if (pointer.length > most.pointer) return;
    add(place, {
      kind: 'field',
      ...lines,
      field: pointer,
      confidence: 1,
      is_changed: now === null || textsOf(now).every(([at, text]) => at !== pointer || text !== value),
      has_template: false,
    });
  };
  const fields = fieldsMarked(ofEntry, frontmatter);
  for (const { mark } of fields)
    for (const [at, { element }] of page.leaves.entries())
      if (element >= mark.element && element <= mark.last) taken.add(at);
  for (const { mark, pointer, value } of fields) addField(markedPlace(page, mark), pointer, value);
  for (const { leaf, pointer, value } of fieldsShown(page, first, taken, frontmatter))
    if (fields.every((field) => field.pointer !== pointer)) addField(placeOf(page, leaf), pointer, value);
  for (const { block, leaf, confidence } of matches) {
    const { kind, start_line, end_line, has_template } = blocks[block] as SourceBlock;
    add(placeOf(page, leaf), { kind, field: null, confidence, has_template, ...carry(start_line, end_line) });
  }
  const share = blocks.length === 0 ? 1 : matches.length / blocks.length;
  return { aligned: Math.round(share * 1000) / 1000, blocks: found };
}

/** Blocks by the lines that marks name: the first of those lines that an element of its kind can show. */
function matchesMarked(
  blocks: readonly SourceBlock[],
  { leaves }: Page,
  marks: readonly PageMark[],
  path: string,
): Match[] {
  const found: Match[] = [];
  for (const { source, element, last } of marks) {
    // Builds name files from the directory of the site, which may lie deeper than that of the repository.
    if (!source || !`/${path}`.endsWith(`/${source.path}`)) continue;
    const leaf = leaves.findIndex((one) => one.element >= element && one.element <= last);
    const kind = leaves[leaf]?.kind;
    const block = blocks.findIndex(
      (one) =>
        one.start_line >= source.start_line &&
        one.end_line <= source.end_line &&
        kind !== undefined &&
        isShownAs(one.kind, kind),
    );
    if (block >= 0 && found.every((one) => one.block !== block && one.leaf !== leaf))
      found.push({ block, leaf, confidence: 1 });
  }
  return found;
}

/** Matches by marks, and of the others those of other blocks and leaves. */
const withMarked = (marked: readonly Match[], others: readonly Match[]): Match[] =>
  [
    ...marked,
    ...others.filter((one) => marked.every(({ block, leaf }) => one.block !== block && one.leaf !== leaf)),
  ].sort((a, b) => a.block - b.block);

/** Fields that marks name, each once: those that have a text. */
function fieldsMarked(marks: readonly PageMark[], frontmatter: Frontmatter) {
  const found = new Map<string, { mark: PageMark; pointer: string; value: string }>();
  for (const mark of marks) {
    const value = mark.field === null ? null : valueAt(frontmatter, mark.field);
    if (mark.field !== null && typeof value === 'string' && !found.has(mark.field))
      found.set(mark.field, { mark, pointer: mark.field, value });
  }
  return [...found.values()];
}

/** Where a page shows a block, and what it shows there. */
type Place = Pick<PageBlock, 'selector' | 'text'>;

/** The place of an element; null for one that no selector within bounds leads to. */
function placeAt(page: Page, element: number, text: string): Place | null {
  const selector = selectorOf(page, element);
  return selector === null ? null : { selector, text: text.slice(0, shownText) };
}

const markedPlace = (page: Page, { element, text }: PageMark) => placeAt(page, element, comparableText(text));

function placeOf(page: Page, at: number): Place | null {
  const leaf = page.leaves[at];
  return placeAt(page, leaf?.element ?? -1, leaf?.text ?? '');
}

function frontmatterLines(text: string | null, path: string): Pick<PageBlock, 'start_line' | 'end_line'> {
  if (text === null) return { start_line: null, end_line: null };
  const { open, source, close } = splitFile(text, path);
  return { start_line: 1, end_line: Math.max(1, (open + source + close).split('\n').length - 1) };
}

/** Carries lines of a text to a later one: lines that differ count as changed, and those after them move. */
function carried(built: string, current: string | null) {
  if (current === null) return () => ({ start_line: null, end_line: null, is_changed: true });
  const numbers = new Map<string, number>();
  const [old, fresh] = [numberLines(linesOf(built), numbers), numberLines(linesOf(current), numbers)];
  const changes = built === current ? [] : diffLines(old, fresh, numbers.size);
  return (start: number, end: number) => {
    const [from, to] = [start - 1, end];
    let shift = 0;
    let isChanged = false;
    for (const change of changes) {
      if (change.old >= to) break;
      if (change.old + change.removed <= from) shift += change.added - change.removed;
      else isChanged = true;
    }
    const last = fresh.length;
    const within = (line: number) => Math.max(1, Math.min(line, last));
    return { start_line: within(start + shift), end_line: within(end + shift), is_changed: isChanged };
  };
}

/** Text values of a frontmatter by their JSON Pointers, at most 500, four levels deep. */
function textsOf(frontmatter: Frontmatter): [pointer: string, text: string][] {
  const found: [string, string][] = [];
  const visit = (value: unknown, pointer: string, depth: number): void => {
    if (found.length >= 500) return;
    if (typeof value === 'string') found.push([pointer, value]);
    else if (typeof value === 'object' && value !== null && depth < 4)
      for (const [key, item] of Object.entries(value)) visit(item, pointerTo(pointer, key), depth + 1);
  };
  visit(frontmatter, '', 0);
  return found;
}

/** Name of the file at an address, without its extension. */
function fileStem(address: string): string {
  const [path = ''] = address.split(/[?#]/, 1);
  const name = path.slice(path.lastIndexOf('/') + 1);
  return name.slice(0, name.includes('.') ? name.lastIndexOf('.') : undefined);
}

/** Whether a leaf shows a value: the same text, the same day, or the image of that name (builds put a hash behind it). */
function shows(leaf: Leaf, value: string): boolean {
  if (leaf.kind === 'image') {
    const [shown, given] = [fileStem(leaf.value ?? ''), fileStem(value)];
    return /\.(?:png|jpe?g|gif|webp|avif|svg)$/i.test(value) && (shown === given || shown.startsWith(`${given}.`));
  }
  if (leaf.value !== undefined && /^\d{4}-\d\d-\d\d/.test(value)) return leaf.value.slice(0, 10) === value.slice(0, 10);
  return comparableText(value) === leaf.text;
}

/** Fields that the page shows beside the body: each on the leaf nearest before it. */
function fieldsShown({ leaves, elements }: Page, first: number, taken: ReadonlySet<number>, frontmatter: Frontmatter) {
  const used = new Set(taken);
  const shown: { leaf: number; pointer: string; value: string }[] = [];
  for (const [pointer, value] of textsOf(frontmatter)) {
    for (let at = first - 1; at >= 0; at -= 1) {
      const leaf = leaves[at];
      if (!leaf || used.has(at) || !isField(leaf, elements[leaf.element]?.tag ?? '', value) || !shows(leaf, value))
        continue;
      used.add(at);
      shown.push({ leaf: at, pointer, value });
      break;
    }
  }
  return shown;
}

/** A heading, a date and an image are fields however short; other text has to be more than a word or two, which menus have as well. */
const isField = (leaf: Leaf, tag: string, value: string): boolean =>
  tag === 'h1' || leaf.kind === 'image' || leaf.value !== undefined || value.trim().split(/\s+/).length >= 4;
