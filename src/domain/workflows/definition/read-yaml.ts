import { Composer, CST, type Document, Lexer, type LineCounter, Parser, YAMLParseError } from 'yaml';
import { inTurns } from '../../in-turns.ts';
import { maxLevels } from './tree-faults.ts';

/**
 * What a text may hold, since nodes are made of it in one go: 500 steps have some 10,000 keys and items. Tokens are those of the lexer
 * without spaces; properties are anchors and tags, each of which may become a fault.
 */
export const sourceLimits = { values: 32_000, tokens: 130_000, properties: 2_000 } as const;

/** Where the text has more keys and items than may be; null: nowhere. Without going down by calls, of which there may be too many. */
function tooManyFrom(tokens: readonly CST.Token[]): number | null {
  let count = 0;
  const left = [...tokens];
  for (let token = left.pop(); token !== undefined; token = left.pop()) {
    if (token.type === 'document' && token.value) left.push(token.value);
    if (!CST.isCollection(token)) continue;
    count += token.items.length;
    if (count > sourceLimits.values) return token.offset;
    for (const { key, value } of token.items) {
      if (key) left.push(key);
      if (value) left.push(value);
    }
  }
  return null;
}

/** A fault that ends the reading at once. */
interface Excess {
  at: number;
  message: string;
}

/** Counts what the lexer finds, with what the parser has open meanwhile. */
class SourceMeter {
  #at = 0;
  #tokens = 0;
  #properties = 0;

  /** @param open containers that have begun and not ended @returns what goes too far; null: nothing so far */
  take(lexeme: string, open: number): Excess | null {
    const type = CST.tokenType(lexeme);
    const at = this.#at;
    // The lexer marks documents and plain texts by a character that is not in the source.
    if (type === 'doc-mode' || type === 'scalar' || type === 'flow-error-end') return null;
    this.#at += lexeme.length;
    if (type === 'space') return null;
    this.#tokens += 1;
    if (type === 'anchor' || type === 'tag') this.#properties += 1;
    if (open > maxLevels) return { at, message: `is nested more than ${maxLevels} levels deep` };
    if (this.#properties > sourceLimits.properties)
      return { at, message: `holds more than ${sourceLimits.properties} anchors and tags` };
    if (this.#tokens > sourceLimits.tokens)
      return { at, message: `holds more than ${sourceLimits.tokens} words and marks of YAML` };
    return null;
  }
}

/** The parser's tokens of a text, read in turns and no further than where it goes too far. */
async function tokensOf(source: string, lines: LineCounter): Promise<{ tokens: CST.Token[]; excess: Excess | null }> {
  const parser = new Parser(lines.addNewLine);
  const meter = new SourceMeter();
  const tokens: CST.Token[] = [];
  let excess: Excess | null = null;
  function* lexemes() {
    for (const lexeme of new Lexer().lex(source)) {
      // The document is open, too.
      excess = meter.take(lexeme, parser.stack.length - 1);
      if (excess) return;
      yield lexeme;
    }
  }
  await inTurns(lexemes(), (lexeme) => {
    for (const token of parser.next(lexeme)) tokens.push(token);
  });
  if (excess) return { tokens: [], excess };
  for (const token of parser.end()) tokens.push(token);
  const at = tooManyFrom(tokens);
  if (at === null) return { tokens, excess };
  return { tokens: [], excess: { at, message: `holds more than ${sourceLimits.values} values` } };
}

/**
 * Reads a text as one document of YAML 1.2, in turns: a quarter of a megabyte may take half a second. Its faults are in the document,
 * also that there is another one, or that it goes beyond the limits, when nothing of it is read. Keys are not compared.
 * @param lines learns where lines begin
 */
export async function readYaml(source: string, lines: LineCounter): Promise<Document> {
  lines.addNewLine(0);
  const { tokens, excess } = await tokensOf(source, lines);
  const composer = new Composer({ version: '1.2', prettyErrors: false, uniqueKeys: false });
  const [document, another] = composer.compose(tokens, true, source.length);
  if (!document) throw new Error('a text without a document');
  if (another) document.errors.push(faultAt(another.range[0], 'MULTIPLE_DOCS', 'holds more than one document'));
  if (excess) document.errors.push(faultAt(excess.at, 'RESOURCE_EXHAUSTION', excess.message));
  return document;
}

const faultAt = (at: number, code: YAMLParseError['code'], message: string) =>
  new YAMLParseError([at, at], code, message);
