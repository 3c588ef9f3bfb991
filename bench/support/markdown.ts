import { type Goal, isReached, type Report } from '../benchmark.ts';

/** A number with three significant digits, never in exponents. */
export function plain(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en');
  return String(Number(value.toPrecision(3)));
}

const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;

function table(columns: readonly string[], rows: Report['rows']): string {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? plain(cell) : cell)));
  const widths = columns.map((column, at) => Math.max(column.length, ...cells.map((row) => row[at]?.length ?? 0)));
  const isNumber = columns.map((_, at) => rows.some((row) => typeof row[at] === 'number'));
  const pad = (text: string, at: number) =>
    isNumber[at] ? text.padStart(widths[at] ?? 0) : text.padEnd(widths[at] ?? 0);
  const rule = widths.map((width, at) => (isNumber[at] ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)));
  return line(columns.map(pad)) + line(rule) + cells.map((row) => line(row.map(pad))).join('');
}

function goalRow(goal: Goal): string[] {
  const { name, value, unit, atMost, atLeast } = goal;
  const limit = atMost === undefined ? `≥ ${plain(atLeast ?? 0)} ${unit}` : `≤ ${plain(atMost)} ${unit}`;
  return [name, `${plain(value)} ${unit}`, limit, isReached(goal) ? 'yes' : '**no**'];
}

/** A report as Markdown, ending in an empty line. */
export function markdownOf(name: string, machine: string, { columns, rows, goals, notes }: Report): string {
  const parts = [`## ${name}\n`, `${machine}\n`, table(columns, rows)];
  if (goals.length > 0) parts.push(table(['Must reach', 'Measured', 'Limit', 'Reached'], goals.map(goalRow)));
  if (notes.length > 0) parts.push(notes.map((note) => `- ${note}\n`).join(''));
  return `${parts.join('\n')}\n`;
}
