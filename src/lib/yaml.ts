import { Composer, type CST, type Document, YAMLParseError } from 'yaml';

/** How a text is read, beside what holds for all. */
interface Reading {
  /** Default: that of YAML 1.2. */
  schema?: 'core';
  /** For editing. */
  keepSourceTokens?: boolean;
}

/**
 * The one document of a text of YAML 1.2, with its faults in `errors`, also that there is another one. Keys are not compared, nor those of `!!omap`:
 * the library compares each with every other. A hostile text has a fault at nearly every character, and stack traces, which nothing reads, would take thirty
 * times as long as the rest.
 * @param tokens of the parser
 * @param length of the text
 */
export function composeDocument(tokens: Iterable<CST.Token>, length: number, reading: Reading = {}): Document.Parsed {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    const composer = new Composer({
      version: '1.2',
      ...reading,
      uniqueKeys: false,
      resolveKnownTags: false,
      prettyErrors: false,
    });
    const [document, another] = composer.compose(tokens, true, length);
    if (!document) throw new Error('a text without a document');
    if (another) {
      const [start, end] = another.range;
      document.errors.push(new YAMLParseError([start, end], 'MULTIPLE_DOCS', 'holds more than one document'));
    }
    return document;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
