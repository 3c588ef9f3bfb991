import type { Leaf, LeafKind, Page } from './page-leaves.ts';
import type { BlockKind, SourceBlock } from './source-blocks.ts';

/**
 * Which leaf of a page shows which block of a source.
 *
 * Blocks whose text is long and stands once on either side are found first, as far as they stand in the same order. From each of them the
 * match runs on to both sides, block by block, for as long as the next block and the next leaf are alike: only so do texts count that are short
 * or stand more than once. What is between two matches is searched in the same way, and last of all for texts that are nearly alike. A block
 * without its leaf is no fault; one with another's would be.
 */

export interface Match {
  /** Index of the block, and of the leaf. */
  block: number;
  leaf: number;
  /** 1: by a text of its own; 0.95: by its neighbours; below: share of words in common. */
  confidence: number;
}

const pairs: Record<BlockKind, readonly LeafKind[]> = {
  heading: ['heading'],
  paragraph: ['paragraph', 'other', 'term'],
  list_item: ['list_item', 'paragraph', 'other'],
  table_cell: ['table_cell'],
  code: ['code'],
  image: ['image'],
  html: ['heading', 'paragraph', 'list_item', 'table_cell', 'code', 'term', 'other'],
};

/** Whether an element of a kind can show a block of another. */
export const isShownAs = (block: BlockKind, leaf: LeafKind): boolean => pairs[block].includes(leaf);

const fuzzy = { words: 4, overlap: 0.8, lead: 0.05 };
/** Leaves that are compared with one block. */
const mostSearched = 400;

/** Long enough that the same text somewhere else would be no accident. */
const isTelling = (text: string): boolean =>
  text.length >= 24 ||
  (/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(text) && text.length >= 8);

/** A stretch of blocks and one of leaves, by their indices among those with a counterpart; ends not included. */
interface Gap {
  blocks: readonly [number, number];
  leaves: readonly [number, number];
  /** Whether a match bounds it before, and behind. */
  after: boolean;
  before: boolean;
}

type Elements = Pick<Page, 'leaves' | 'elements'>;

export function alignPage(blocks: readonly SourceBlock[], page: Elements): Match[] {
  const alignment = new Alignment(blocks, page);
  const matches = alignment.exact();
  return [...matches, ...alignment.nearlyAlike()].sort((a, b) => a.block - b.block);
}

class Alignment {
  readonly #blocks: readonly SourceBlock[];
  readonly #page: Elements;
  /** Texts of the page, and of the source. */
  readonly #shown: ReadonlySet<string>;
  readonly #wanted: ReadonlySet<string>;
  /** Indices of the blocks and leaves whose text stands on both sides: what has no counterpart at all breaks no run. */
  readonly #ofSource: number[];
  readonly #ofPage: number[];
  readonly #matches = new Map<number, Match>();
  readonly #taken = new Set<number>();
  #container = -1;

  constructor(blocks: readonly SourceBlock[], page: Elements) {
    this.#blocks = blocks;
    this.#page = page;
    this.#shown = new Set(page.leaves.map(({ text }) => text));
    this.#wanted = new Set(blocks.map(({ text }) => text));
    this.#ofSource = [...blocks.keys()].filter((at) => this.#shown.has(blocks[at]?.text ?? ''));
    this.#ofPage = [...page.leaves.keys()].filter((at) => this.#wanted.has(page.leaves[at]?.text ?? ''));
  }

  /** Matches of equal texts. */
  exact(): Match[] {
    const all: Gap = {
      blocks: [0, this.#ofSource.length],
      leaves: [0, this.#ofPage.length],
      after: false,
      before: false,
    };
    const anchors = inOrder(this.#uniquePairs(all));
    if (anchors.length === 0) return [];
    this.#container = containerOf(
      anchors.map(([, leaf]) => this.#page.leaves[this.#ofPage[leaf] ?? -1]?.element ?? -1),
      this.#page.elements,
    );
    const isWithin = this.#ofPage.map((leaf) => this.#isWithin(leaf));
    // Text of the entry elsewhere on the page (menus, teasers) is not edited there.
    const [first, last] = [isWithin.indexOf(true), isWithin.lastIndexOf(true) + 1];
    const [low, high] = [Math.min(first, anchors[0]?.[1] ?? 0), Math.max(last, (anchors.at(-1)?.[1] ?? 0) + 1)];
    this.#fill({ ...all, leaves: [low, high] }, anchors, 0);
    return [...this.#matches.values()];
  }

  /** Fills a gap around its anchors: runs from both sides of each stretch between, and what they leave in the same way. */
  #fill(gap: Gap, anchors: readonly (readonly [number, number])[], depth: number): void {
    for (const [block, leaf] of anchors) this.#add(block, leaf, 1);
    const bounds = [
      [gap.blocks[0] - 1, gap.leaves[0] - 1] as const,
      ...anchors,
      [gap.blocks[1], gap.leaves[1]] as const,
    ];
    for (const [index, [block, leaf]] of bounds.entries()) {
      const next = bounds[index + 1];
      if (!next) break;
      const rest = this.#run({
        blocks: [block + 1, next[0]],
        leaves: [leaf + 1, next[1]],
        after: index > 0 || gap.after,
        before: index < bounds.length - 2 || gap.before,
      });
      const isEmpty = rest.blocks[0] >= rest.blocks[1] || rest.leaves[0] >= rest.leaves[1];
      if (isEmpty || !rest.after || !rest.before || depth >= 20) continue;
      const inner = inOrder(this.#uniquePairs(rest));
      if (inner.length > 0) this.#fill(rest, inner, depth + 1);
    }
  }

  /**
   * Runs into a stretch from the matches that bound it, and gives what is left of it. A text that stands more often on one side than on the
   * other ends the run: which of its places is left out cannot be known.
   */
  #run(gap: Gap): Gap {
    let [from, until] = gap.blocks;
    let [first, last] = gap.leaves;
    const counts = new Map<string, number>();
    const count = (text: string, by: number) => counts.set(text, (counts.get(text) ?? 0) + by);
    for (let at = from; at < until; at += 1) count(this.#block(at)?.text ?? '', 1);
    for (let at = first; at < last; at += 1) count(this.#leaf(at)?.text ?? '', -1);
    const isAlike = (block: number, leaf: number) =>
      this.#isAlike(block, leaf) && counts.get(this.#block(block)?.text ?? '') === 0;
    if (gap.after)
      for (; from < until && first < last && isAlike(from, first); from += 1, first += 1) this.#add(from, first, 0.95);
    if (gap.before)
      for (; until > from && last > first && isAlike(until - 1, last - 1); until -= 1, last -= 1)
        this.#add(until - 1, last - 1, 0.95);
    return { ...gap, blocks: [from, until], leaves: [first, last] };
  }

  /** Blocks and leaves of a stretch whose text is telling and stands once among what it could be matched with. */
  #uniquePairs({ blocks: [from, until], leaves: [first, last] }: Gap): (readonly [number, number])[] {
    const byText = new Map<string, { blocks: number[]; leaves: number[] }>();
    for (let at = from; at < until; at += 1) {
      const text = this.#block(at)?.text ?? '';
      const places = byText.get(text) ?? { blocks: [], leaves: [] };
      byText.set(text, places);
      places.blocks.push(at);
    }
    for (let at = first; at < last; at += 1) byText.get(this.#leaf(at)?.text ?? '')?.leaves.push(at);
    return [...byText].flatMap(
      ([
        text,
        {
          blocks: [block, ...more],
          leaves,
        },
      ]) => {
        if (block === undefined || more.length > 0 || !isTelling(text)) return [];
        const [leaf, ...others] = leaves.filter((one) => this.#isAlike(block, one));
        return leaf === undefined || others.length > 0 ? [] : [[block, leaf] as const];
      },
    );
  }

  /** Matches by most of the words, for what has none yet and stands between two others or in the same part of the page. */
  nearlyAlike(): Match[] {
    const { leaves } = this.#page;
    const found: Match[] = [];
    const sorted = [...this.#matches.values()].sort((a, b) => a.block - b.block);
    if (sorted.length === 0) return found;
    const bounds = [{ block: -1, leaf: -1 }, ...sorted, { block: this.#blocks.length, leaf: leaves.length }];
    for (const [index, { block, leaf }] of bounds.entries()) {
      const next = bounds[index + 1];
      if (!next) break;
      let least = leaf;
      for (let at = block + 1; at < next.block; at += 1) {
        const best = this.#nearest(
          this.#blocks[at] as SourceBlock,
          least + 1,
          Math.min(next.leaf, least + mostSearched),
        );
        if (!best) continue;
        found.push({ block: at, leaf: best.leaf, confidence: Math.round(best.score * 90) / 100 });
        least = best.leaf;
      }
    }
    return found;
  }

  /** The leaf of a stretch that has most words in common with a block; null where none has enough, or two are as near. */
  #nearest({ kind, text }: SourceBlock, first: number, last: number): { leaf: number; score: number } | null {
    const words = text.split(' ');
    // What has its like on the other side is no other's, even where its own place is not known.
    if (words.length < fuzzy.words || this.#shown.has(text)) return null;
    const near: { leaf: number; score: number }[] = [];
    for (let at = first; at < last; at += 1) {
      const leaf = this.#page.leaves[at];
      if (!leaf || leaf.kind === 'term' || !isShownAs(kind, leaf.kind) || !this.#isWithin(at)) continue;
      if (this.#wanted.has(leaf.text)) continue;
      const score = overlap(words, leaf.text);
      if (score >= fuzzy.overlap) near.push({ leaf: at, score });
    }
    const [best, second] = near.sort((a, b) => b.score - a.score);
    return best && (!second || best.score - second.score >= fuzzy.lead) ? best : null;
  }

  #block = (at: number): SourceBlock | undefined => this.#blocks[this.#ofSource[at] ?? -1];
  #leaf = (at: number): Leaf | undefined => this.#page.leaves[this.#ofPage[at] ?? -1];

  #isAlike(block: number, leaf: number): boolean {
    const [one, other] = [this.#block(block), this.#leaf(leaf)];
    if (!one || !other || one.text !== other.text || !isShownAs(one.kind, other.kind)) return false;
    return !this.#matches.has(this.#ofSource[block] ?? -1) && !this.#taken.has(this.#ofPage[leaf] ?? -1);
  }

  #add(block: number, leaf: number, confidence: number): void {
    const match = { block: this.#ofSource[block] ?? -1, leaf: this.#ofPage[leaf] ?? -1, confidence };
    this.#matches.set(match.block, match);
    this.#taken.add(match.leaf);
  }

  #isWithin(leaf: number): boolean {
    const { leaves, elements } = this.#page;
    for (let at = leaves[leaf]?.element ?? -1; at >= this.#container; at = elements[at]?.parent ?? -1)
      if (at === this.#container) return true;
    return this.#container < 0;
  }
}

/** The longest part of pairs that stands in the same order on both sides. */
function inOrder(pairs: readonly (readonly [number, number])[]): (readonly [number, number])[] {
  const sorted = pairs.toSorted(([a], [b]) => a - b);
  /** Per length the index of the pair that ends such a part with the smallest leaf. */
  const ends: number[] = [];
  const before: number[] = [];
  for (const [index, [, leaf]] of sorted.entries()) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sorted[ends[middle] ?? 0]?.[1] ?? 0) < leaf) low = middle + 1;
      else high = middle;
    }
    before.push(low > 0 ? (ends[low - 1] ?? -1) : -1);
    ends[low] = index;
  }
  const kept: (readonly [number, number])[] = [];
  for (let at = ends.at(-1) ?? -1; at >= 0; at = before[at] ?? -1)
    kept.unshift(sorted[at] as readonly [number, number]);
  return kept;
}

/** The part of the page the entry is shown in: around nearly all of some elements, and as large as the `article` or `main` they are in. */
function containerOf(shown: readonly number[], elements: Page['elements']): number {
  const held = new Map<number, number>();
  for (const element of shown)
    for (let at = element; at >= 0; at = elements[at]?.parent ?? -1) held.set(at, (held.get(at) ?? 0) + 1);
  let innermost = -1;
  for (const [element, count] of held) if (count >= shown.length * 0.9 && element > innermost) innermost = element;
  for (let at = innermost; at >= 0; at = elements[at]?.parent ?? -1) if (elements[at]?.isMain) return at;
  // A single block would be all of it.
  return shown.length < 3 ? (elements[innermost]?.parent ?? -1) : innermost;
}

/** Twice the words two texts have in common, of all their words. */
function overlap(words: readonly string[], text: string): number {
  const others = text.split(' ');
  const most = (2 * Math.min(words.length, others.length)) / (words.length + others.length);
  if (most < fuzzy.overlap) return 0;
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  let common = 0;
  for (const word of others) {
    const left = counts.get(word) ?? 0;
    if (left > 0) {
      common += 1;
      counts.set(word, left - 1);
    }
  }
  return (2 * common) / (words.length + others.length);
}
