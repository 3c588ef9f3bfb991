/** Tables of GFM as text: where their cells stand, and how one is changed with all others as they are. */

interface Cell {
  from: number;
  to: number;
  text: string;
}

interface TableSource {
  head: Cell[];
  rows: Cell[][];
}

export interface TextChange {
  from: number;
  to: number;
  insert: string;
}

/** Places of the pipes of a line that stand between cells (GFM 4.10: a pipe in a cell is escaped). */
function pipesOf(line: string): number[] {
  const found: number[] = [];
  for (let at = 0; at < line.length; at += 1) {
    if (line[at] === '\\') at += 1;
    else if (line[at] === '|') found.push(at);
  }
  return found;
}

function cellsOf(line: string, offset: number): Cell[] {
  const pipes = pipesOf(line);
  const start = /^\s*/.exec(line)?.[0].length ?? 0;
  const end = line.trimEnd().length;
  // Pipes at both ends may be left out.
  const bounds = [
    ...(pipes[0] === start ? [] : [start - 1]),
    ...pipes,
    ...(pipes.at(-1) === end - 1 && pipes.length > 1 ? [] : [end]),
  ];
  return bounds.slice(0, -1).map((before, at) => {
    const [left, right] = [before + 1, bounds[at + 1] ?? end];
    const inside = line.slice(left, right);
    const text = inside.trim();
    const from = text === '' ? left + Math.min(1, inside.length) : left + inside.indexOf(text);
    return { from: offset + from, to: offset + from + text.length, text };
  });
}

interface Line {
  /** Where it begins in the table. */
  from: number;
  text: string;
  cells: Cell[];
}

function linesOf(source: string): Line[] {
  let from = 0;
  return source.split('\n').map((text) => {
    const line = { from, text, cells: cellsOf(text, from) };
    from += text.length + 1;
    return line;
  });
}

/** Reads a table. Positions are counted from its beginning. */
export function readTable(source: string): TableSource {
  const [head = [], , ...rows] = linesOf(source).map(({ cells }) => cells);
  return { head, rows };
}

/** Text of a cell as it stands in a table: on one line, without a pipe of its own. */
const asCell = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .join(' ')
    .replace(/(\\.)|\|/gs, (found, escaped: string | undefined) => escaped ?? (found === '|' ? '\\|' : found))
    .trim();

/** Number of a row's line: the head is the first, and a line of hyphens follows it. @param row -1: the head */
const lineOfRow = (row: number) => (row < 0 ? 0 : row + 2);

/** Another text of a cell; null where it is the same. Cells that its row lacks are added. @param row -1: the head */
export function changeCell(source: string, row: number, column: number, text: string): TextChange | null {
  const line = linesOf(source)[lineOfRow(row)];
  if (!line) return null;
  const { cells } = line;
  const cell = cells[column];
  const insert = asCell(text);
  if (insert === (cell?.text ?? '')) return null;
  if (cell) {
    // A backslash would escape the pipe after it.
    const isClose = source[cell.to] === '|' && (cell.text === '' || insert.endsWith('\\'));
    return { from: cell.from, to: cell.to, insert: insert + (isClose ? ' ' : '') };
  }
  const end = line.from + line.text.trimEnd().length;
  const between = column - cells.length;
  const added = line.text.trimEnd().endsWith('|')
    ? `${'  |'.repeat(between)} ${insert} |`
    : `${' |'.repeat(between)} | ${insert}`;
  return { from: end, to: end, insert: added };
}

/** An empty row below another; below the head, it is the first. @param row -1: the head */
export function addRow(source: string, row: number): TextChange {
  const lines = linesOf(source);
  const above = lines[row + 2];
  const to = above ? above.from + above.text.length : source.length;
  return { from: to, to, insert: `\n|${'  |'.repeat(lines[0]?.cells.length ?? 0)}` };
}

export function removeRow(source: string, row: number): TextChange | null {
  const line = linesOf(source)[lineOfRow(row)];
  return line && row >= 0 ? { from: line.from - 1, to: line.from + line.text.length, insert: '' } : null;
}

/** A column after another, in every line. */
export function addColumn(source: string, column: number): TextChange[] {
  return linesOf(source).flatMap(({ from, text, cells }, number) => {
    const cell = cells[column];
    // A row that is shorter than the head ends before the column.
    if (!cell) return [];
    const next = pipesOf(text).find((pipe) => from + pipe >= cell.to);
    const added = number === 1 ? ' --- ' : '  ';
    return next === undefined
      ? [{ from: cell.to, to: cell.to, insert: ` |${added}|` }]
      : [{ from: from + next, to: from + next, insert: `|${added}` }];
  });
}

export function removeColumn(source: string, column: number): TextChange[] {
  return linesOf(source).flatMap(({ from, text, cells }) => {
    const cell = cells[column];
    if (!cell) return [];
    const pipes = pipesOf(text).map((pipe) => from + pipe);
    const before = pipes.findLast((pipe) => pipe < cell.from);
    const after = pipes.find((pipe) => pipe >= cell.to);
    if (before !== undefined) return [{ from: before, to: after ?? from + text.length, insert: '' }];
    return [{ from, to: after === undefined ? from + text.length : after + 1, insert: '' }];
  });
}
