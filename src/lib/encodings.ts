/** Shorter parts of base64 stand in other texts by chance. */
const shortestCore = 6;

/** The letters that a text contributes to its base64 wherever in other bytes it stands: one for each of the three positions. */
export function base64Cores(text: string): string[] {
  return [0, 1, 2].map((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]).toString('base64');
    const tail = (before + Buffer.byteLength(text)) % 3;
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

/** As URLs write it: a component, a value of a form, a path and a query that were not encoded before (WHATWG URL). */
function inUrls(text: string): string[] {
  const [path, query] = ['http://x/', 'http://x/?'].map((base) => new URL(base + text).href.slice(base.length));
  const form = new URLSearchParams({ '': text }).toString().slice(1);
  return [encodeURIComponent(text), form, path ?? '', query ?? ''];
}

/** How a text is written in JSON, URLs, base64 and hexadecimal; none is empty, and letters may have another case elsewhere. */
export function encodingsOf(text: string): string[] {
  const wellFormed = text.toWellFormed();
  const whole = Buffer.from(text).toString('base64');
  const cores = base64Cores(text).filter(({ length }) => length >= shortestCore);
  const encoded = [whole, ...cores];
  const forms = [
    text,
    ...inJson(text),
    ...inUrls(wellFormed),
    ...encoded,
    ...encoded.map(base64Url),
    Buffer.from(text).toString('hex'),
  ];
  return [...new Set(forms)].filter((form) => form !== '');
}
