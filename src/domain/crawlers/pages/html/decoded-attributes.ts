import { Parser, type ParserOptions } from 'htmlparser2';
import type { Attributes } from './elements.ts';

/**
 * How pages are parsed. A parser that decodes references itself looks at every character of all text, most of a page, for their sake; one that
 * does not, leaps from tag to tag.
 */
export const pageParserOptions: ParserOptions = { decodeEntities: false };

/** As an attribute decodes its references, which is not as text does (HTML 13.2.5.73). */
function decoded(value: string): string {
  let found = value;
  const take = (_name: string, read: string) => {
    found = read;
  };
  new Parser({ onattribute: take }).end(`<a b="${value.replaceAll('"', '&quot;')}">`);
  return found;
}

/** Attributes as they are meant, from what `pageParserOptions` leaves of them. */
export function decodedAttributes(written: Attributes): Attributes {
  const values = Object.entries(written);
  if (!values.some(([, value]) => value?.includes('&'))) return written;
  return Object.fromEntries(
    values.map(([name, value]) => [name, value?.includes('&') ? decoded(value) : value] as const),
  );
}
