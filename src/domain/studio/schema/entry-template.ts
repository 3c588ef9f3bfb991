/**
 * What a site's own configuration says of new entries, in one language of placeholders, which readers translate theirs into and which is
 * substituted, never evaluated:
 *
 *   {{year}} {{month}} {{day}} {{hour}} {{minute}} {{second}}   of the time in UTC, with leading zeros
 *   {{now}}            the time, as 2026-11-25T02:12:20Z; {{now | date(YYYY-MM-DD)}} in another form
 *   {{slug}}           the title as a name; {{name}}: the last segment of the entry's slug
 *   {{title}}          the title; {{x}}, {{fields.x}}, {{fields.x.y}}: a value of the frontmatter
 *   {{… | upper}} {{… | lower}} {{… | default('text')}}
 *
 * Anything else is left out.
 */
import { DomainError } from '../../../kernel/errors.ts';
import { isRecord } from '../../../lib/objects.ts';
import { normalized } from '../../../lib/text.ts';
import { pad } from '../frameworks/routing/dates.ts';
import { nameProblem } from '../path-rules.ts';
import type { SchemaSource } from './schema.schema.ts';

/** How new entries of a collection begin; what is absent follows from title and schema. A value: JSON keeps all of it. */
export interface EntryTemplate {
  /** Pattern of the slug, slashes included; absent: `{{slug}}`. */
  slug?: string;
  /** Which letters slugs have: those of ASCII alone, or all without their accents; absent: any. */
  letters?: 'ascii' | 'unaccented';
  /** Values over the defaults of the fields; texts in them have placeholders. */
  frontmatter?: Record<string, unknown>;
  body?: string;
  /** Where all this stands, when not where the schema does. */
  source?: SchemaSource;
}

/** What placeholders stand for. */
export interface TemplateValues {
  title: string;
  now: Date;
  /** The last segment of the entry's slug, once it is known. */
  name?: string;
  frontmatter: Readonly<Record<string, unknown>>;
}

const longestPattern = 1_000;
/** Most that a template makes of its texts, characters. */
const longestFilled = 1024 * 1024;
/** Longest segment a slug gets, bytes: it leaves room for an extension, a language and a number. */
const segmentBytes = 120;
const mostSegments = 16;

/** `{{…}}`, but not Hugo's shortcodes `{{< … >}}` and `{{% … %}}`. */
const placeholder = /\{\{(?![<%])([^{}]{0,500})\}\}/g;

const dateToken = /\[([^[\]]*)\]|YYYY|YY|MM|DD|HH|mm|ss|SSS|Z|[A-Za-z]/g;

/** A time in UTC in a form of these tokens; null when the form has others. */
function formatDate(date: Date, form: string): string | null {
  let known = true;
  const tokens: Record<string, string> = {
    YYYY: pad(date.getUTCFullYear(), 4),
    YY: pad(date.getUTCFullYear() % 100),
    MM: pad(date.getUTCMonth() + 1),
    DD: pad(date.getUTCDate()),
    HH: pad(date.getUTCHours()),
    mm: pad(date.getUTCMinutes()),
    ss: pad(date.getUTCSeconds()),
    SSS: pad(date.getUTCMilliseconds(), 3),
    Z: '+00:00',
    T: 'T',
  };
  const text = form.replace(dateToken, (token, literal: string | undefined) => {
    if (literal !== undefined) return literal;
    const value = tokens[token];
    if (value === undefined) known = false;
    return value ?? '';
  });
  return known ? text : null;
}

/** The placeholder for the time in a form of these tokens; what would end the placeholder is left out of the form. */
export const nowAs = (form: string): string => `{{now | date(${form.replace(/[{}()|'"]/g, '')})}}`;

const clockForms: Record<string, string> = {
  year: 'YYYY',
  month: 'MM',
  day: 'DD',
  hour: 'HH',
  minute: 'mm',
  second: 'ss',
  now: 'YYYY-MM-DDTHH:mm:ss[Z]',
};

/** A value of the frontmatter as text; '' where it is absent, or no text, number or switch. */
function fieldText(frontmatter: unknown, path: readonly string[]): string {
  let value = frontmatter;
  for (const key of path) value = isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : '';
}

/** Counts what a template makes while it is made, with what its filters do: a text of 250 KB has room for 16,500 placeholders. */
class Filling {
  #left = longestFilled;

  /** @throws DomainError `too_large` beyond the most a template makes */
  take(length: number): void {
    this.#left -= length;
    if (this.#left >= 0) return;
    const message = `title: with it the template of the collection makes more than ${longestFilled} characters; use a shorter title, or a shorter template`;
    throw new DomainError('too_large', message);
  }
}

function placeholderText(expression: string, values: TemplateValues, filling: Filling): string {
  const [name = '', ...filters] = expression.split('|').map((part) => part.trim());
  let text: string;
  if (Object.hasOwn(clockForms, name)) text = formatDate(values.now, clockForms[name] ?? '') ?? '';
  else if (name === 'slug') text = slugify(values.title);
  else if (name === 'name') text = values.name ?? slugify(values.title);
  else text = fieldText(values.frontmatter, name.replace(/^fields\./, '').split('.'));
  if (name === 'title' && text === '') text = values.title;
  for (const filter of filters) {
    const [, kind, written = ''] = /^(\w+)(?:\((.*)\))?$/s.exec(filter) ?? [];
    const argument = written.trim().replace(/^["']|["']$/g, '');
    if (kind === 'upper') text = text.toUpperCase();
    else if (kind === 'lower') text = text.toLowerCase();
    else if (kind === 'default') text ||= argument;
    else if (kind === 'date' && name === 'now') text = formatDate(values.now, argument) ?? '';
    else return '';
    filling.take(text.length);
  }
  filling.take(text.length);
  return text;
}

const fill = (text: string, values: TemplateValues, filling: Filling, treat = (value: string) => value) =>
  text.replace(placeholder, (_, expression: string) => treat(placeholderText(expression, values, filling)));

/**
 * Substitutes the placeholders of a text.
 * @throws DomainError `too_large` where that makes too much of it
 */
export function fillText(text: string, values: TemplateValues, filling = new Filling()): string {
  filling.take(text.length);
  return fill(text, values, filling);
}

/**
 * The same in all texts of a value; undefined for a text of which nothing is left, which lists and objects leave out.
 * @throws DomainError `too_large` where all of them together are too long
 */
export function fillValue(value: unknown, values: TemplateValues, filling = new Filling()): unknown {
  if (typeof value === 'string') {
    const filled = fillText(value, values, filling);
    return filled === '' && value !== '' ? undefined : filled;
  }
  if (Array.isArray(value)) {
    filling.take(value.length);
    return value.map((one) => fillValue(one, values, filling)).filter((one) => one !== undefined);
  }
  if (!isRecord(value)) return value;
  const members = Object.entries(value).map(([key, one]) => {
    filling.take(key.length);
    return [key, fillValue(one, values, filling)] as const;
  });
  return Object.fromEntries(members.filter(([, one]) => one !== undefined));
}

/** A text as part of a name: lower case, letters and digits of any script, one dash for all between them. */
function slugify(text: string): string {
  const plain = text.toLowerCase().replace(/['’]/g, '');
  return plain.replace(/[^\p{L}\p{M}\p{N}_]+/gu, '-').replace(/^-+|-+$/g, '');
}

function withLetters(text: string, letters: EntryTemplate['letters']): string {
  if (letters === undefined) return normalized(text);
  const unaccented = normalized(text, 'NFKD').replace(/\p{M}/gu, '');
  return letters === 'ascii' ? unaccented.replace(/[^\x20-\x7e]+/g, '-') : normalized(unaccented);
}

/** The longest beginning of a text of so many bytes. */
function cut(text: string, bytes: number): string {
  let length = 0;
  let end = 0;
  for (const character of text) {
    length += Buffer.byteLength(character);
    if (length > bytes) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** One segment that passes the path rules; '' when nothing is left of it. */
function segmentOf(text: string): string {
  const trimmed = (one: string) => one.replace(/^[-.]+|(?<![-.])[-.]+$/g, '');
  const plain = trimmed(text.replace(/[^\p{L}\p{M}\p{N}_.-]+/gu, '-').replace(/-{2,}/g, '-'));
  const short = trimmed(cut(plain, segmentBytes));
  return nameProblem(short) === null ? short : `entry-${short}`;
}

/**
 * The slug a template gives a new entry. It passes the path rules, whatever pattern and title are.
 * @throws DomainError `too_large` where the pattern makes too much of them
 */
export function slugOf({ slug: pattern = '{{slug}}', letters }: EntryTemplate, values: TemplateValues): string {
  const segments = (filled: string) =>
    withLetters(filled, letters)
      .split('/')
      .map(segmentOf)
      .filter((segment) => segment !== '')
      .slice(0, mostSegments);
  const shortly = (value: string) => slugify(value.slice(0, longestPattern));
  const made = segments(fill(pattern.slice(0, longestPattern), values, new Filling(), shortly));
  const whole = made.length > 0 ? made : segments(slugify(values.title));
  return whole.join('/') || 'untitled';
}
