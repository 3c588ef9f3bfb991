import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { finishYielding, type Steps } from '../concurrency.ts';
import { upTo } from '../version-cache.ts';
import { Replacer } from './replacer.ts';

/** Shorter parts of base64 stand in other texts by chance. */
const shortestCore = 6;

/** The letters that bytes contribute to the base64 of more bytes wherever they stand among them: one for each of the three positions. */
export function base64Cores(bytes: Buffer): string[] {
  return [0, 1, 2].map((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const tail = (before + bytes.length) % 3;
    return whole.replace(/=+$/, '').slice(before === 0 ? 0 : before + 1, tail === 0 ? undefined : -1);
  });
}

const base64Url = (text: string) => text.replaceAll('+', '-').replaceAll('/', '_');

const escaped = (text: string) => JSON.stringify(text).slice(1, -1);

/** As JSON writes a string: escaped no more than needed, in ASCII alone, with slashes escaped, and within another string of JSON. */
function* inJson(text: string): Generator<string> {
  const once = escaped(text);
  const ascii = once.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  for (const form of [once, ascii]) {
    const withSlashes = form.replaceAll('/', '\\/');
    yield form;
    yield escaped(form);
    yield withSlashes;
    yield escaped(withSlashes);
  }
}

/** As URLs write it: a component, a value of a form, a path, a query and a password that were not encoded before (WHATWG URL). */
function* inUrls(text: string): Generator<string> {
  yield encodeURIComponent(text);
  yield new URLSearchParams({ '': text }).toString().slice(1);
  for (const base of ['http://x/', 'http://x/?']) yield new URL(base + text).href.slice(base.length);
  yield Object.assign(new URL('http://x'), { password: text }).password;
}

function* inBytes(bytes: Buffer): Generator<string> {
  const cores = base64Cores(bytes).filter(({ length }) => length >= shortestCore);
  for (const form of [bytes.toString('base64'), ...cores]) {
    yield form;
    yield base64Url(form);
  }
  yield bytes.toString('hex');
}

function* formsOf(text: string): Generator<string> {
  const wellFormed = text.toWellFormed();
  yield text;
  yield* inJson(text);
  yield* inUrls(wellFormed);
  yield* inUrls(escaped(wellFormed));
  yield* inBytes(Buffer.from(text));
  // A byte a character, as `btoa` and thereby JSONata's `$base64encode` read a text.
  yield* inBytes(Buffer.from(text, 'latin1'));
}

/**
 * How a text is written in JSON, URLs, base64 and hexadecimal; none is empty, and letters may have another case elsewhere. Each is made
 * only when it is taken: all of a long text together take a tenth of a second.
 */
export function* encodingsOf(text: string): Generator<string> {
  const given = new Set(['']);
  for (const form of formsOf(text)) {
    if (!given.has(form)) yield form;
    given.add(form);
  }
}

const own = { configurable: true, enumerable: true, writable: true };

/** Units of texts that are looked at in one step; each value and key counts for some more. */
const atOnce = 16 * 1024;
const eachCounts = 64;

/** A value with what is to be replaced in its texts and keys replaced. */
function* replacedIn(value: unknown, replacer: Replacer, most: number): Steps<unknown> {
  let units = 0;
  let left = most;
  function* inText(text: string): Steps<string> {
    units += text.length;
    if (left < 0) return '';
    const replaced = yield* replacer.replace(text, left);
    left -= replaced.length;
    return replaced;
  }
  function* within(part: unknown): Steps<unknown> {
    units += eachCounts;
    if (units >= atOnce) {
      units = 0;
      yield;
    }
    if (typeof part === 'string') return yield* inText(part);
    if (typeof part !== 'object' || part === null) return part;
    if (Array.isArray(part)) {
      const items: unknown[] = [];
      for (const item of part) items.push(yield* within(item));
      return items;
    }
    const members: Record<string, unknown> = {};
    const keys = Object.keys(part);
    units += keys.length;
    for (const key of keys) {
      const name = yield* inText(key);
      const member = yield* within((part as Record<string, unknown>)[key]);
      // Assigned, it would become the prototype.
      if (name === '__proto__') Object.defineProperty(members, name, { ...own, value: member });
      else members[name] = member;
    }
    return members;
  }
  return yield* within(value);
}

/** By the digest of their secrets: to make that of the largest set takes a second, and a step may be repeated a thousand times. */
const replacers = new LRUCache<string, Promise<Replacer>>(upTo(50));

function replacerOf(secrets: Readonly<Record<string, string>>): Promise<Replacer> {
  const digest = createHash('sha256').update(JSON.stringify(secrets)).digest('base64');
  const known = replacers.get(digest);
  if (known) return known;
  const made = finishYielding(
    Replacer.of(function* () {
      for (const [name, value] of Object.entries(secrets))
        for (const form of encodingsOf(value)) yield [form, `[secret ${name}]`];
    }),
  );
  replacers.set(digest, made);
  made.catch(() => replacers.delete(digest));
  return made;
}

/** Takes the values of secrets out of a value. Of texts that are longer then than so many UTF-16 units the rest may be missing. */
export type Redact = (value: unknown, most?: number) => Promise<unknown>;

/** Takes the values of secrets, however they are written, out of whatever is kept or shown, in steps. */
export async function redactor(secrets: Readonly<Record<string, string>>): Promise<Redact> {
  const replacer = await replacerOf(secrets);
  return async (value, most = Number.POSITIVE_INFINITY) =>
    replacer.longest === 0 ? value : finishYielding(replacedIn(value, replacer, most));
}
