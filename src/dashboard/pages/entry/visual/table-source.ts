/** Tables of GFM as text: where their cells stand, and how one is changed with all others as they are. */

export interface Cell {
  from: number;
  to: number;
  text: string;
}

export interface TableSource {
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

/** Reads a table. Positions are counted from its beginning. */
export function readTable(source: string): TableSource {
  const lines = source.split('\n');
  let offset = 0;
  const rows = lines.map((line) => {
    const cells = cellsOf(line, offset);
    offset += line.length + 1;
    return cells;
  });
  const [head = [], , ...body] = rows;
  return { head, rows: body };
}

/** Text of a cell as it stands in a table: on one line, without a pipe of its own. */
const asCell = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .join(' ')
    .replace(/(\\.)|\|/gs, (found, escaped: string | undefined) => escaped ?? (found === '|' ? '\\|' : found))
    .trim();

const lineAt = (source: string, number: number) => {
  const lines = source.split('\n');
  const from = lines.slice(0, number).reduce((sum, line) => sum + line.length + 1, 0);
  return { from, to: from + (lines[number]?.length ?? 0), text: lines[number] ?? '' };
};

/** Another text of a cell; null where it is the same. Cells that its row lacks are added. @param row -1: the head */
export function changeCell(source: string, row: number, column: number, text: string): TextChange | null {
  const line = lineAt(source, row < 0 ? 0 : row + 2);
  const cells = cellsOf(line.text, line.from);
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

/** An empty row below another. @param row -1: the head */
export function addRow(source: string, row: number): TextChange {
  const { head } = readTable(source);
  const { to } = lineAt(source, row + 2);
  return { from: to, to, insert: `\n|${'  |'.repeat(head.length)}` };
}

export function removeRow(source: string, row: number): TextChange {
  const { from, to } = lineAt(source, row + 2);
  return { from: from - 1, to, insert: '' };
}

/** A column after another, in every line. */
export function addColumn(source: string, column: number): TextChange[] {
  return source.split('\n').flatMap((line, number) => {
    const { from } = lineAt(source, number);
    const cells = cellsOf(line, from);
    const cell = cells[column];
    // A row that is shorter than the head ends before the column.
    if (!cell) return [];
    const next = pipesOf(line).find((pipe) => from + pipe >= cell.to);
    const text = number === 1 ? ' --- ' : '  ';
    return next === undefined
      ? [{ from: cell.to, to: cell.to, insert: ` |${text}|` }]
      : [{ from: from + next, to: from + next, insert: `|${text}` }];
  });
}

export function removeColumn(source: string, column: number): TextChange[] {
  return source.split('\n').flatMap((line, number) => {
    const { from } = lineAt(source, number);
    const cell = cellsOf(line, from)[column];
    if (!cell) return [];
    const pipes = pipesOf(line).map((pipe) => from + pipe);
    const before = pipes.findLast((pipe) => pipe < cell.from);
    const after = pipes.find((pipe) => pipe >= cell.to);
    if (before !== undefined) return [{ from: before, to: after ?? from + line.length, insert: '' }];
    return [{ from, to: after === undefined ? from + line.length : after + 1, insert: '' }];
  });
}
