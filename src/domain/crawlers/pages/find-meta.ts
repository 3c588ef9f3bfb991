import { Parser } from 'htmlparser2';

/** Elements that may stand in a head; any other begins the body. */
const headElements = new Set([
  'html',
  'head',
  'title',
  'meta',
  'link',
  'base',
  'style',
  'script',
  'noscript',
  'template',
]);

const hidingElements = new Set(['noscript', 'template']);
const rawElements = new Set(['title', 'style', 'script']);

/**
 * The contents of `<meta name=… content=…>` in the head of a page. What visitors may have written stands in the body, and does not
 * count; neither does the inside of `template` and `noscript`.
 * @param name case ignored
 */
export function findMeta(html: string, name: string): string[] {
  const wanted = name.toLowerCase();
  const contents: string[] = [];
  let hidden = 0;
  let isHead = true;
  let isRaw = false;
  const parser = new Parser({
    onopentag(element, attributes) {
      isRaw = rawElements.has(element);
      if (hidingElements.has(element)) hidden += 1;
      if (hidden === 0 && !headElements.has(element)) isHead = false;
      if (!isHead || hidden > 0 || element !== 'meta') return;
      if (attributes.name?.trim().toLowerCase() === wanted) contents.push((attributes.content ?? '').trim());
    },
    onclosetag(element) {
      isRaw = false;
      if (hidingElements.has(element)) hidden -= 1;
      if (element === 'head') isHead = false;
    },
    ontext(text) {
      // Text begins the body, too.
      if (hidden === 0 && !isRaw && text.trim() !== '') isHead = false;
    },
  });
  parser.end(html);
  return contents;
}
