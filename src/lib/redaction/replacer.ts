import { randomInt } from 'node:crypto';
import type { Steps } from '../concurrency.ts';

/** Units (of UTF-16) that are looked at in one step. */
const atOnce = 16 * 1024;

/** The capital of each unit, as patterns with the flag `i` compare by (ECMA-262, Canonicalize); plus one, since zeros would not show in a hash. */
const folded = Uint32Array.from({ length: 0x1_0000 }, (_, unit) => {
  const capital = String.fromCharCode(unit).toUpperCase();
  const code = capital.length === 1 ? capital.charCodeAt(0) : unit;
  return (unit >= 0x80 && code < 0x80 ? unit : code) + 1;
});

/**
 * Texts are compared by two polynomial hashes (Karp and Rabin). Their bases are random, so that no two texts can be written that seem equal, and
 * so small that a product of one with a hash is exact in the 53 bits of a number.
 */
const prime = 2 ** 31 - 1;
const [firstBase, secondBase] = [randomInt(2 ** 20, 2 ** 21), randomInt(2 ** 20, 2 ** 21)];

/** The remainder of a division by the prime, for which `%` takes many times as long. */
function modulo(value: number): number {
  const high = Math.floor(value / 2 ** 31);
  const rest = value - high * 2 ** 31 + high;
  return rest >= prime ? rest - prime : rest;
}

const product = (one: number, other: number): number =>
  modulo(modulo(one * (other >>> 16)) * 2 ** 16 + one * (other & 0xffff));

function power(base: number, exponent: number): number {
  let [result, square] = [1, base];
  for (let left = exponent; left > 0; left >>>= 1) {
    if (left & 1) result = product(result, square);
    square = product(square, square);
  }
  return result;
}

/** Nothing is known by such a hash. */
const absent = -1;

/** Numbers by the two hashes of a text, in flat arrays: a map would take several times the memory and time. */
class HashTable {
  #first = new Int32Array(64);
  #second = new Int32Array(64);
  #values = new Int32Array(64).fill(absent);
  #size = 0;

  get(first: number, second: number): number {
    return this.#values[this.#slotOf(first, second)] as number;
  }

  set(first: number, second: number, value: number): void {
    const slot = this.#slotOf(first, second);
    if (this.#values[slot] === absent) this.#size += 1;
    this.#first[slot] = first;
    this.#second[slot] = second;
    this.#values[slot] = value;
    if (this.#size * 2 > this.#values.length) this.#grow();
  }

  /** Where a text stands, or would. */
  #slotOf(first: number, second: number): number {
    const mask = this.#values.length - 1;
    let slot = (Math.imul(first, 0x9e3779b1) ^ second) & mask;
    while (this.#values[slot] !== absent && (this.#first[slot] !== first || this.#second[slot] !== second))
      slot = (slot + 1) & mask;
    return slot;
  }

  #grow(): void {
    const [firsts, seconds, values] = [this.#first, this.#second, this.#values];
    const length = values.length * 2;
    this.#first = new Int32Array(length);
    this.#second = new Int32Array(length);
    this.#values = new Int32Array(length).fill(absent);
    for (const [at, value] of values.entries()) {
      if (value === absent) continue;
      const slot = this.#slotOf(firsts[at] as number, seconds[at] as number);
      this.#first[slot] = firsts[at] as number;
      this.#second[slot] = seconds[at] as number;
      this.#values[slot] = value;
    }
  }
}

/** The hashes of all beginnings of a part of a text, by which any piece of that part has its own; the part moves on through the text. */
class Beginnings {
  readonly first: Int32Array;
  readonly second: Int32Array;
  /** Where the part begins. */
  from = 0;
  readonly #text: string;
  #to = 0;

  /** @param longest how long pieces are at most */
  constructor(text: string, longest: number) {
    this.#text = text;
    const room = Math.min(text.length, 2 * longest + 4_096) + 1;
    this.first = new Int32Array(room);
    this.second = new Int32Array(room);
  }

  /** Has the part hold a piece, which begins no earlier than that before it. */
  cover(start: number, end: number): void {
    if (end <= this.#to) return;
    const { first, second } = this;
    if (start >= this.#to) {
      this.from = start;
      this.#to = start;
      first[0] = 0;
      second[0] = 0;
    } else if (end - this.from >= first.length) {
      const [moved, hashed] = [start - this.from, this.#to - this.from];
      first.copyWithin(0, moved, hashed + 1);
      second.copyWithin(0, moved, hashed + 1);
      this.from = start;
    }
    let at = this.#to - this.from;
    let [one, other] = [first[at] as number, second[at] as number];
    for (; this.#to < end; this.#to += 1) {
      const unit = folded[this.#text.charCodeAt(this.#to)] as number;
      one = modulo(one * firstBase + unit);
      other = modulo(other * secondBase + unit);
      at += 1;
      first[at] = one;
      second[at] = other;
    }
  }
}

/** After which indices a binary search for another goes on above, in order. */
function passedTo(index: number, count: number): number[] {
  const passed: number[] = [];
  let [low, high] = [0, count - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (middle < index) passed.push(middle);
    if (middle === index) break;
    if (middle < index) low = middle + 1;
    else high = middle - 1;
  }
  return passed;
}

/** The number of no text. */
const none = 0;

/**
 * Replaces any of several texts, in letters of either case, each by its own; where several begin at a place the longest, so that no part of it is
 * left. The time this takes grows with the length of what is searched, and with the logarithm of the number of texts, but not with their length,
 * whatever they are; none of them is kept.
 *
 * The longest text at a place is found by a binary search over all lengths that texts have. To lead it, some beginnings of each text are known by
 * their hash: of the lengths after which the search for that text goes on above. With each is kept the longest text that it begins with itself
 * (Waldvogel, Varghese, Turner and Plattner, "Scalable High Speed IP Routing Lookups", 1997). The chance that a hash of 62 bits takes a piece of
 * what is searched for a text that it is not is less than one in a million for the largest of both.
 */
export class Replacer {
  readonly #table = new HashTable();
  /** Of the text of each number. */
  readonly #lengthOf: number[] = [0];
  readonly #replacementOf: string[] = [''];
  /** Each once, in order. */
  #lengths = new Int32Array();
  /** The bases to the power of each length. */
  #firstPowers = new Int32Array();
  #secondPowers = new Int32Array();
  /** What the first units of texts come to; few places of what is searched have such a value, and only those are looked up. */
  readonly #heads = new Uint8Array(0x1_0000);
  #headLength = 0;
  #headShift = 0;

  /**
   * @param texts gives each text with what it is replaced by, the same at each call; none is empty. The replacement of texts that differ only in
   * case is that of the last one
   */
  static *of(texts: () => Iterable<readonly [text: string, replacement: string]>): Steps<Replacer> {
    const replacer = new Replacer();
    yield* replacer.#add(texts());
    yield* replacer.#addBeginnings(texts());
    return replacer;
  }

  /** How long the longest text is; 0 without any. */
  get longest(): number {
    return this.#lengths.at(-1) ?? 0;
  }

  *#add(texts: Iterable<readonly [text: string, replacement: string]>): Steps<void> {
    let units = 0;
    const lengths = new Set<number>();
    for (const [text, replacement] of texts) {
      let [first, second] = [0, 0];
      for (let at = 0; at < text.length; at += 1) {
        const unit = folded[text.charCodeAt(at)] as number;
        first = modulo(first * firstBase + unit);
        second = modulo(second * secondBase + unit);
      }
      this.#table.set(first, second, this.#lengthOf.length);
      this.#lengthOf.push(text.length);
      this.#replacementOf.push(replacement);
      lengths.add(text.length);
      units += text.length;
      if (units < atOnce) continue;
      units = 0;
      yield;
    }
    this.#lengths = Int32Array.from(lengths).sort();
    this.#firstPowers = this.#lengths.map((length) => power(firstBase, length));
    this.#secondPowers = this.#lengths.map((length) => power(secondBase, length));
    this.#headLength = Math.min(this.#lengths[0] ?? 0, 4);
    this.#headShift = Math.ceil(16 / this.#headLength);
  }

  *#addBeginnings(texts: Iterable<readonly [text: string, replacement: string]>): Steps<void> {
    let units = 0;
    const passed = new Map(
      [...this.#lengths.entries()].map(([at, length]) => [length, passedTo(at, this.#lengths.length)]),
    );
    for (const [text] of texts) {
      const ends = passed.get(text.length) ?? [];
      let [first, second, head] = [0, 0, 0];
      let [next, pass, longest] = [0, 0, none];
      for (let at = 0; at < text.length; at += 1) {
        const unit = folded[text.charCodeAt(at)] as number;
        if (at < this.#headLength) head = ((head << this.#headShift) ^ unit) & 0xffff;
        first = modulo(first * firstBase + unit);
        second = modulo(second * secondBase + unit);
        if (at + 1 !== this.#lengths[next]) continue;
        const known = this.#table.get(first, second);
        if (known > none) longest = known;
        if (ends[pass] === next) {
          if (known === absent) this.#table.set(first, second, longest);
          pass += 1;
        }
        next += 1;
      }
      this.#heads[head] = 1;
      // A lookup takes as long as several units.
      units += text.length + next * 4;
      if (units < atOnce) continue;
      units = 0;
      yield;
    }
  }

  /** The number of the longest text that begins at a place. */
  #longestAt(start: number, rest: number, beginnings: Beginnings): number {
    const { first, second } = beginnings;
    let [low, high, longest] = [0, this.#lengths.length - 1, none];
    while (low <= high) {
      const middle = (low + high) >> 1;
      const length = this.#lengths[middle] as number;
      let known = absent;
      if (length <= rest) {
        beginnings.cover(start, start + length);
        const from = start - beginnings.from;
        const before = product(first[from] as number, this.#firstPowers[middle] as number);
        const otherBefore = product(second[from] as number, this.#secondPowers[middle] as number);
        known = this.#table.get(
          modulo((first[from + length] as number) - before + prime),
          modulo((second[from + length] as number) - otherBefore + prime),
        );
      }
      if (known === absent) high = middle - 1;
      else {
        longest = known;
        low = middle + 1;
      }
    }
    return longest;
  }

  /**
   * @param most UTF-16 units after which the rest may be left away
   * @returns a text with all that is to be replaced in it replaced, from its beginning on; no replacement is looked at again
   */
  *replace(text: string, most = Number.POSITIVE_INFINITY): Steps<string> {
    const length = this.#headLength;
    if (length === 0 || text.length < length) return text;
    const blocks: string[] = [];
    let pieces: string[] = [];
    let beginnings: Beginnings | undefined;
    let [head, done, size] = [0, 0, 0];
    for (let at = 0; at < text.length; at += 1) {
      head = ((head << this.#headShift) ^ (folded[text.charCodeAt(at)] as number)) & 0xffff;
      const start = at + 1 - length;
      if (start >= done && this.#heads[head] === 1) {
        beginnings ??= new Beginnings(text, this.longest);
        const found = this.#longestAt(start, text.length - start, beginnings);
        if (found !== none) {
          pieces.push(text.slice(done, start), this.#replacementOf[found] as string);
          done = start + (this.#lengthOf[found] as number);
        }
      }
      if ((at + 1) % atOnce !== 0) continue;
      // Millions of pieces would take long to be put together at the end.
      const block = pieces.join('');
      blocks.push(block);
      pieces = [];
      size += block.length;
      if (size > most) return blocks.join('');
      yield;
    }
    return done === 0 ? text : [...blocks, ...pieces, text.slice(done)].join('');
  }
}
