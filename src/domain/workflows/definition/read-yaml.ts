import { Composer, CST, type Document, Lexer, type LineCounter, Parser, YAMLParseError } from 'yaml';
import { inTurns } from '../../in-turns.ts';

/** Most keys and items of all mappings and lists: nodes are made of them in one go. */
const maxValues = 50_000;

/** Where the text has more keys and items than may be; null: nowhere. Without going down by calls, of which there may be too many. */
function tooManyFrom(tokens: readonly CST.Token[]): number | null {
  let count = 0;
  const left = [...tokens];
  for (let token = left.pop(); token !== undefined; token = left.pop()) {
    if (token.type === 'document' && token.value) left.push(token.value);
    if (!CST.isCollection(token)) continue;
    count += token.items.length;
    if (count > maxValues) return token.offset;
    for (const { key, value } of token.items) {
      if (key) left.push(key);
      if (value) left.push(value);
    }
  }
  return null;
}

/**
 * Reads a text as one document of YAML 1.2, in turns: a quarter of a megabyte may take half a second. Its faults are in the document,
 * also that there is another one, or that it has more than 50,000 values, which are not read then. Keys are not compared.
 * @param lines learns where lines begin
 */
export async function readYaml(source: string, lines: LineCounter): Promise<Document> {
  const parser = new Parser(lines.addNewLine);
  const tokens: CST.Token[] = [];
  const take = (found: Iterable<CST.Token>) => {
    for (const token of found) tokens.push(token);
  };
  lines.addNewLine(0);
  await inTurns(new Lexer().lex(source), (lexeme) => take(parser.next(lexeme)));
  take(parser.end());
  const tooMany = tooManyFrom(tokens);
  const composer = new Composer({ version: '1.2', prettyErrors: false, uniqueKeys: false });
  const [document, another] = composer.compose(tooMany === null ? tokens : [], true, source.length);
  if (!document) throw new Error('a text without a document');
  if (another) document.errors.push(faultAt(another.range[0], 'MULTIPLE_DOCS', 'holds more than one document'));
  if (tooMany !== null)
    document.errors.push(faultAt(tooMany, 'RESOURCE_EXHAUSTION', `holds more than ${maxValues} values`));
  return document;
}

const faultAt = (at: number, code: YAMLParseError['code'], message: string) =>
  new YAMLParseError([at, at], code, message);
