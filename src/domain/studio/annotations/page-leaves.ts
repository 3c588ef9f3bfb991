import { Parser } from 'htmlparser2';
import { comparableText } from '../../../lib/text.ts';
import { isMarked, markOf, type PageMark } from './page-marks.ts';

/**
 * The leaves of a page: its runs of text, cut where an element begins or ends that breaks the line, and its images. What readers do not see
 * (scripts, hidden parts, what is for screen readers alone, the anchors of headings) is no leaf.
 */

export type LeafKind = 'heading' | 'paragraph' | 'list_item' | 'table_cell' | 'code' | 'image' | 'term' | 'other';

export interface Leaf {
  kind: LeafKind;
  /** Comparable text (`comparableText`); of an image its alternative text. */
  text: string;
  /** Index of its element in `Page.elements`. */
  element: number;
  /** `datetime` of a time within it, or the address of an image. */
  value?: string;
}

export interface PageElement {
  tag: string;
  /** Index of the element around it; -1 for the outermost. */
  parent: number;
  /** Its place among the elements of its parent, from 1. */
  nth: number;
  /** It is what the page is about, by its own word: `article`, `main`, `role="main"`. */
  isMain: boolean;
}

export interface Page {
  leaves: Leaf[];
  elements: PageElement[];
  /** Address that the page gives itself (`<link rel="canonical">`). */
  canonical: string | null;
  /** What its templates say of its elements. */
  marks: PageMark[];
}

/** Characters of a marked element that are looked at, marks around an element, and marks of a page that are read. */
const mostMarked = { text: 1_000, depth: 20, marks: 2_000 };

const inline = new Set(
  (
    'a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd label mark math meter output picture progress q ruby rb rp rt rtc s ' +
    'samp small source span strike strong sub sup time tt u var wbr'
  ).split(' '),
);
const unseen = new Set(
  'title script style template noscript svg select textarea iframe button object canvas audio video dialog'.split(' '),
);
const outside = /(?:^|[\s_-])(?:sr-only|visually-hidden|screen-reader-text|visuallyhidden)(?:$|[\s_-])/;

const ofHead = new Set('title meta link base style script'.split(' '));

const kinds: Record<string, LeafKind> = {
  h1: 'heading',
  h2: 'heading',
  h3: 'heading',
  h4: 'heading',
  h5: 'heading',
  h6: 'heading',
  p: 'paragraph',
  li: 'list_item',
  td: 'table_cell',
  th: 'table_cell',
  dt: 'term',
  dd: 'term',
  pre: 'code',
};

/** An element that breaks the line, with the text of it that no element within has taken. */
interface Open {
  element: number;
  kind: LeafKind;
  text: string;
  /** Leaves before it; where its own belongs, before its images. */
  at: number;
  value: string | undefined;
}

/** Reads the leaves of a page or a part of one, in one pass. */
export function leavesOf(html: string): Page {
  const page: Page = { leaves: [], elements: [], canonical: null, marks: [] };
  const { leaves, elements, marks } = page;
  /** Marked elements that are open, outermost first. */
  const marked: PageMark[] = [];
  const counts: number[] = [];
  let roots = 0;
  /** Indices of the elements that are open, outermost first. */
  const path: number[] = [];
  const open: Open[] = [{ element: -1, kind: 'other', text: '', at: 0, value: undefined }];
  /** Depth of `path` at which something that is not seen began, and a code block. */
  let hidden = Number.POSITIVE_INFINITY;
  let code = Number.POSITIVE_INFINITY;
  let heading: string | null = null;

  const flush = () => {
    const run = open.at(-1);
    if (!run) return;
    const text = comparableText(run.text);
    if (text !== '' && run.element >= 0) {
      const leaf: Leaf = { kind: run.kind, text, element: run.element };
      if (run.value !== undefined) leaf.value = run.value;
      leaves.splice(run.at, 0, leaf);
    }
    run.text = '';
    run.value = undefined;
    run.at = leaves.length;
  };
  const add = (tag: string, isMain: boolean): number => {
    // A browser puts rows into a body, and counts it.
    if (tag === 'tr' && elements[path.at(-1) ?? -1]?.tag === 'table') path.push(add('tbody', false));
    const parent = path.at(-1) ?? -1;
    const nth = (parent < 0 ? roots : (counts[parent] ?? 0)) + 1;
    if (parent >= 0) counts[parent] = nth;
    // What stands before a body that is not written goes into the head.
    else if (nth > 1 || !ofHead.has(tag)) roots = nth;
    elements.push({ tag, parent, nth, isMain });
    counts.push(0);
    return elements.length - 1;
  };
  const isSeen = () => path.length < hidden;

  const parser = new Parser(
    {
      onopentag(tag, attributes) {
        const element = add(tag, tag === 'article' || tag === 'main' || attributes.role === 'main');
        path.push(element);
        if (tag === 'link' && attributes.rel === 'canonical') page.canonical ??= attributes.href ?? null;
        if (isMarked(attributes) && marked.length < mostMarked.depth && marks.length < mostMarked.marks) {
          const mark = { element, last: element, text: '', ...markOf(attributes, marked.at(-1) ?? null) };
          marks.push(mark);
          marked.push(mark);
        }
        if (!isSeen()) return;
        const isHidden =
          unseen.has(tag) ||
          'hidden' in attributes ||
          attributes['aria-hidden'] === 'true' ||
          outside.test(attributes.class ?? '') ||
          (tag === 'a' && heading !== null && attributes.href === `#${heading}` && isAnchor(attributes));
        if (isHidden || tag === 'head') {
          hidden = path.length;
          return;
        }
        const run = open.at(-1);
        if (tag === 'img') {
          const leaf: Leaf = { kind: 'image', text: comparableText(attributes.alt ?? ''), element };
          if (attributes.src !== undefined) leaf.value = attributes.src;
          leaves.push(leaf);
          return;
        }
        if (tag === 'br' && run) run.text += ' ';
        // A date that stands for itself: it is no part of a sentence.
        const isDate = tag === 'time' && run?.kind === 'other' && attributes.datetime !== undefined;
        const isCustom = tag.includes('-') && run !== undefined && run.kind !== 'other';
        if (!isDate && (inline.has(tag) || path.length > code || isCustom)) return;
        flush();
        const outer = elements[elements[element]?.parent ?? -1]?.tag;
        const kind = tag === 'p' && outer === 'li' ? 'list_item' : (kinds[tag] ?? 'other');
        if (kind === 'heading') heading = attributes.id ?? null;
        if (kind === 'code') code = path.length;
        open.push({ element, kind, text: '', at: leaves.length, value: isDate ? attributes.datetime : undefined });
      },
      ontext(text) {
        const run = open.at(-1);
        if (!run || !isSeen()) return;
        run.text += text;
        for (const mark of marked) if (mark.text.length < mostMarked.text) mark.text += text;
      },
      onclosetag(tag) {
        // What a browser puts around rows ends with the table.
        if (tag === 'table' && elements[path.at(-1) ?? -1]?.tag === 'tbody') path.pop();
        const element = path.pop() ?? -1;
        if (marked.at(-1)?.element === element) {
          const mark = marked.pop();
          if (mark) mark.last = elements.length - 1;
        }
        if (path.length < hidden) {
          if (path.length === hidden - 1) hidden = Number.POSITIVE_INFINITY;
          if (open.at(-1)?.element === element) {
            flush();
            open.pop();
            const outer = open.at(-1);
            if (outer) outer.at = leaves.length;
            if (path.length < code) code = Number.POSITIVE_INFINITY;
            heading = null;
          } else if (path.length >= code && elements[element]?.tag === 'div') {
            const run = open.at(-1);
            if (run) run.text += ' ';
          }
        }
      },
    },
    { decodeEntities: true },
  );
  parser.end(html);
  return page;
}

/** An anchor of a heading: it is named so, or is no more than a sign. */
const isAnchor = ({ class: name = '', 'aria-label': label }: Record<string, string>): boolean =>
  /anchor|hash|headerlink|permalink/.test(name) || label !== undefined;

/** Longest selector, characters: every block of a page has one, and pages can be nested as deep as they are long. */
export const longestSelector = 1_000;

/** A name that a selector needs no escape for, and that is short; an element of another one is found by its place alone. */
const plainTag = /^[a-z][a-z0-9-]{0,39}$/;

/** A CSS selector of an element of a page, good for the page as it was served; null for one that lies too deep. */
export function selectorOf({ elements }: Pick<Page, 'elements'>, element: number): string | null {
  let selector = '';
  let isWhole = false;
  for (let at = element; at >= 0; at = elements[at]?.parent ?? -1) {
    const { tag, nth } = elements[at] as PageElement;
    isWhole = tag === 'html' || tag === 'body';
    const step = isWhole ? tag : `${plainTag.test(tag) ? tag : ''}:nth-child(${nth})`;
    selector = selector === '' ? step : `${step} > ${selector}`;
    if (selector.length > longestSelector) return null;
  }
  return isWhole ? selector : ['body', selector].filter(Boolean).join(' > ');
}
