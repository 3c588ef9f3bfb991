import { extname } from 'node:path';

/** Where the frontmatter of a file lies; offsets into its text. */
export interface Block {
  format: 'yaml' | 'toml' | 'json';
  start: number;
  end: number;
  /** After the closing delimiter's line. */
  bodyStart: number;
}

const formatsByExtension: Record<string, Block['format']> = {
  '.yml': 'yaml',
  '.yaml': 'yaml',
  '.json': 'json',
  '.toml': 'toml',
};
const delimiters: Record<string, [Block['format'], readonly string[]]> = {
  '---': ['yaml', ['---', '...']],
  '+++': ['toml', ['+++']],
  ';;;': ['json', [';;;']],
};

/** Finds the block line by line, in another way than the engine does; null: the file has none. */
export function findBlock(text: string, path: string): Block | null {
  const top = text.startsWith('\ufeff') ? 1 : 0;
  const whole = formatsByExtension[extname(path).toLowerCase()];
  if (whole !== undefined) return { format: whole, start: top, end: text.length, bodyStart: text.length };
  const lines = text.slice(top).split('\n');
  const bare = (line: string | undefined) => (line ?? '').replace(/\r$/, '').replace(/[ \t]+$/, '');
  const opening = delimiters[bare(lines[0])];
  if (opening === undefined) return findBareJson(text, top);
  const [format, closing] = opening;
  const close = lines.findIndex((line, at) => at > 0 && closing.includes(bare(line)));
  if (close === -1) return null;
  const lengthOf = (from: number, to: number) => lines.slice(from, to).reduce((sum, line) => sum + line.length + 1, 0);
  const start = top + lengthOf(0, 1);
  const end = start + lengthOf(1, close);
  return { format, start, end, bodyStart: Math.min(end + lengthOf(close, close + 1), text.length) };
}

/** A JSON value says itself where it ends: `JSON.parse` names the position of what follows it. */
function findBareJson(text: string, top: number): Block | null {
  if (text[top] !== '{') return null;
  const block = (end: number, bodyStart: number): Block => ({ format: 'json', start: top, end, bodyStart });
  try {
    JSON.parse(text.slice(top));
    return block(text.trimEnd().length, text.length);
  } catch (error) {
    const position = /after JSON at position (\d+)/.exec(String(error))?.[1];
    if (position === undefined) return null;
    const end = text.slice(0, top + Number(position)).trimEnd().length;
    const close = /^[ \t]*(?:\r?\n|$)/.exec(text.slice(end));
    return close === null ? null : block(end, end + close[0].length);
  }
}
