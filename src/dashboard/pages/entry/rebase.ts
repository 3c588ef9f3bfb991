/**
 * What a person changed in an entry, as the least that has to be sent; and the same changes on another version of it, as when somebody else saved
 * meanwhile. Fields merge key by key, the body line by line; what both changed differently is left to the server and the person.
 */

import { pointerTo } from '../../../lib/json-pointer.ts';
import { type Fields, isFields, same } from '../../lib/json.ts';

/** An entry's content. `raw` is the whole file where its frontmatter cannot be read; otherwise null. */
export interface Content {
  fields: Fields;
  body: string;
  raw: string | null;
}

export const sameContent = (one: Content, other: Content): boolean =>
  one.raw === other.raw && one.body === other.body && same(one.fields, other.fields);

/** Part of the input of `updateEntry`. */
export interface Change {
  frontmatter?: Fields;
  unset?: string[];
  mode?: 'replace';
  body?: string;
  raw?: string;
}

const hasNull = (value: unknown): boolean => value === null || (isFields(value) && Object.values(value).some(hasNull));

/** Merge patch (RFC 7396) from one object to another, the pointers of removed keys apart. @returns null when a patch cannot say it: it has a null to be stored */
function patchOf(base: Fields, wanted: Fields, pointer = ''): { patch: Fields; unset: string[] } | null {
  const patch: [string, unknown][] = [];
  const unset = Object.keys(base)
    .filter((key) => !Object.hasOwn(wanted, key))
    .map((key) => pointerTo(pointer, key));
  for (const [key, value] of Object.entries(wanted)) {
    const before = Object.hasOwn(base, key) ? base[key] : undefined;
    if (same(before, value)) continue;
    if (isFields(before) && isFields(value)) {
      const inner = patchOf(before, value, pointerTo(pointer, key));
      if (inner === null) return null;
      unset.push(...inner.unset);
      if (Object.keys(inner.patch).length > 0) patch.push([key, inner.patch]);
    } else if (hasNull(value)) return null;
    else patch.push([key, value]);
  }
  return { patch: Object.fromEntries(patch), unset };
}

/** @returns what leads from one content to the other; null when they are equal */
export function changeOf(base: Content, wanted: Content): Change | null {
  if (wanted.raw !== null) return wanted.raw === base.raw ? null : { raw: wanted.raw };
  const change: Change = {};
  if (!same(base.fields, wanted.fields)) {
    const found = patchOf(base.fields, wanted.fields);
    if (found === null) Object.assign(change, { frontmatter: wanted.fields, mode: 'replace' });
    else {
      if (Object.keys(found.patch).length > 0) change.frontmatter = found.patch;
      if (found.unset.length > 0) change.unset = found.unset;
    }
  }
  if (base.body !== wanted.body) change.body = wanted.body;
  return Object.keys(change).length > 0 ? change : null;
}

/** Pointers of the keys that differ; below objects that both have, those of the keys in them. */
export function changedFields(base: Fields, wanted: Fields, pointer = ''): string[] {
  return [...new Set([...Object.keys(base), ...Object.keys(wanted)])].flatMap((key) => {
    const before = Object.hasOwn(base, key) ? base[key] : undefined;
    const after = Object.hasOwn(wanted, key) ? wanted[key] : undefined;
    if (same(before, after)) return [];
    return isFields(before) && isFields(after)
      ? changedFields(before, after, pointerTo(pointer, key))
      : [pointerTo(pointer, key)];
  });
}

/** A part of a text that is replaced; offsets into the text before. */
export interface Edit {
  from: number;
  to: number;
  insert: string;
}

export interface Rebased {
  content: Content;
  /** From my body to the merged one. */
  edits: Edit[];
  /** Pointers of the fields that now hold what the other has; `/body` is no field but the body. */
  taken: string[];
  bodyTaken: boolean;
}

function mergeFields(base: Fields, mine: Fields, theirs: Fields): Fields | null {
  const merged: [string, unknown][] = [];
  for (const key of new Set([...Object.keys(mine), ...Object.keys(theirs)])) {
    const [before, own, other] = [base, mine, theirs].map((side) => (Object.hasOwn(side, key) ? side[key] : undefined));
    let value: unknown;
    if (same(own, other) || same(before, other)) value = own;
    else if (same(before, own)) value = other;
    else if (isFields(own) && isFields(other)) {
      value = mergeFields(isFields(before) ? before : {}, own, other);
      if (value === null) return null;
    } else return null;
    if (value !== undefined) merged.push([key, value]);
  }
  return Object.fromEntries(merged);
}

type Differ = (one: string, other: string) => readonly { fromA: number; toA: number; fromB: number; toB: number }[];

const lineStart = (text: string, offset: number) => text.lastIndexOf('\n', offset - 1) + 1;
function lineEnd(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  return end === -1 ? text.length : end;
}

/** Their edits, moved to where they are in my text; null when both changed the same lines. */
function mergeBody(base: string, mine: string, theirs: string, diff: Differ): Edit[] | null {
  if (mine === theirs || base === theirs) return [];
  if (base === mine)
    return diff(base, theirs).map((c) => ({ from: c.fromA, to: c.toA, insert: theirs.slice(c.fromB, c.toB) }));
  const own = diff(base, mine);
  const edits: Edit[] = [];
  for (const { fromA, toA, fromB, toB } of diff(base, theirs)) {
    const [start, end] = [lineStart(base, fromA), lineEnd(base, toA)];
    if (own.some((change) => lineStart(base, change.fromA) <= end && lineEnd(base, change.toA) >= start)) return null;
    const shift = own
      .filter((change) => change.toA <= fromA)
      .reduce((sum, c) => sum + (c.toB - c.fromB) - (c.toA - c.fromA), 0);
    edits.push({ from: fromA + shift, to: toA + shift, insert: theirs.slice(fromB, toB) });
  }
  return edits;
}

export const applyEdits = (text: string, edits: readonly Edit[]): string =>
  edits.reduceRight((done, { from, to, insert }) => done.slice(0, from) + insert + done.slice(to), text);

/** @returns my changes on their version; null when both changed the same field or lines, or the file cannot be read as fields */
export function rebase(base: Content, mine: Content, theirs: Content, diff: Differ): Rebased | null {
  if (base.raw !== null || mine.raw !== null || theirs.raw !== null) {
    if (!sameContent(base, mine)) return null;
    return { content: theirs, edits: [], taken: [], bodyTaken: true };
  }
  const fields = mergeFields(base.fields, mine.fields, theirs.fields);
  const edits = fields && mergeBody(base.body, mine.body, theirs.body, diff);
  if (fields === null || edits === null) return null;
  const body = applyEdits(mine.body, edits);
  return {
    content: { fields, body, raw: null },
    edits,
    taken: changedFields(mine.fields, fields),
    bodyTaken: body !== mine.body,
  };
}

/**
 * A new entry whose template gives other content for another title: what was not edited follows it.
 * @param begun what the template gave before
 */
export function retitled(mine: Content, begun: Content, template: Content, title: string): Content {
  const followed = Object.entries(template.fields).filter(
    // The title is the one that is being typed.
    ([name, value]) => value !== title && same(mine.fields[name], begun.fields[name]),
  );
  return {
    fields: { ...mine.fields, ...Object.fromEntries(followed) },
    body: mine.body === begun.body ? template.body : mine.body,
    raw: mine.raw,
  };
}
