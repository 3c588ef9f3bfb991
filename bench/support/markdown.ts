import { type Case, isReached, type Report, timesAsGood } from '../benchmark.ts';

/** A number with three significant digits, never in exponents. */
export function plain(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en');
  return String(Number(value.toPrecision(3)));
}

const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;

/** Columns whose cells are numbers with a unit stand to the right. */
const columns = ['case', 'Portico', 'p95', 'runs', 'limit', '', 'beside it', 'times as good'];
const rightward = columns.map((name) => ['Portico', 'p95', 'runs', 'limit'].includes(name));

function cellsOf(found: Case): string[] {
  const { name, value, unit, p95, runs, peers = [], atMost, atLeast } = found;
  const limit = atMost !== undefined ? `≤ ${plain(atMost)}` : atLeast !== undefined ? `≥ ${plain(atLeast)}` : '';
  return [
    name,
    `${plain(value)} ${unit}`,
    p95 === undefined ? '' : plain(p95),
    runs === undefined ? '' : String(runs),
    limit && `${limit} ${unit}`,
    limit && (isReached(found) ? 'ok' : '**over**'),
    peers.map((peer) => `${peer.name} ${plain(peer.value)}`).join('; '),
    peers.map((peer) => plain(timesAsGood(found, peer))).join('; '),
  ];
}

function table(cases: readonly Case[]): string {
  const cells = cases.map(cellsOf);
  const widths = columns.map((column, at) => Math.max(column.length, 3, ...cells.map((row) => row[at]?.length ?? 0)));
  const pad = (text: string, at: number) =>
    rightward[at] ? text.padStart(widths[at] ?? 0) : text.padEnd(widths[at] ?? 0);
  const rule = widths.map((width, at) => (rightward[at] ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)));
  return line(columns.map(pad)) + line(rule) + cells.map((row) => line(row.map(pad))).join('');
}

/** A report as Markdown, ending in an empty line. */
export function markdownOf(name: string, machine: string, { cases, notes }: Report): string {
  const parts = [`## ${name}\n`, `${machine}\n`, table(cases)];
  if (notes.length > 0) parts.push(notes.map((note) => `- ${note}\n`).join(''));
  return `${parts.join('\n')}\n`;
}
