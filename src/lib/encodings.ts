import { anyOf } from './text.ts';

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
function inJson(text: string): string[] {
  const once = escaped(text);
  const ascii = once.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const forms = [once, ascii, once.replaceAll('/', '\\/'), ascii.replaceAll('/', '\\/')];
  return [...forms, ...forms.map(escaped)];
}

/** As URLs write it: a component, a value of a form, a path, a query and a password that were not encoded before (WHATWG URL). */
function inUrls(text: string): string[] {
  const signedIn = new URL('http://x');
  signedIn.password = text;
  const [path, query] = ['http://x/', 'http://x/?'].map((base) => new URL(base + text).href.slice(base.length));
  const form = new URLSearchParams({ '': text }).toString().slice(1);
  return [encodeURIComponent(text), form, path ?? '', query ?? '', signedIn.password];
}

/** How a text is written in JSON, URLs, base64 and hexadecimal; none is empty, and letters may have another case elsewhere. */
export function encodingsOf(text: string): string[] {
  const wellFormed = text.toWellFormed();
  // A byte a character, as `btoa` and thereby JSONata's `$base64encode` read a text.
  const bytes = [Buffer.from(text), Buffer.from(text, 'latin1')];
  const encoded = bytes.flatMap((each) => [
    each.toString('base64'),
    ...base64Cores(each).filter(({ length }) => length >= shortestCore),
  ]);
  const forms = [
    text,
    ...inJson(text),
    ...inUrls(wellFormed),
    ...inUrls(escaped(wellFormed)),
    ...encoded,
    ...encoded.map(base64Url),
    ...bytes.map((each) => each.toString('hex')),
  ];
  return [...new Set(forms)].filter((form) => form !== '');
}

/** Takes the values of secrets, however they are written, out of whatever is kept or shown. */
export function redactor(secrets: Readonly<Record<string, string>>): (value: unknown) => unknown {
  const marks = new Map<string, string>();
  const forms = Object.entries(secrets).flatMap(([name, value]) => {
    const written = encodingsOf(value);
    for (const form of written) marks.set(form.toLowerCase(), `[secret ${name}]`);
    return written;
  });
  if (forms.length === 0) return (value) => value;
  const anyForm = anyOf(forms);
  const inText = (text: string) => text.replace(anyForm, (found) => marks.get(found.toLowerCase()) ?? '[secret]');
  const redact = (value: unknown): unknown => {
    if (typeof value === 'string') return inText(value);
    if (Array.isArray(value)) return value.map(redact);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [inText(key), redact(item)]));
  };
  return redact;
}
