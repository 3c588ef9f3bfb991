/**
 * One cell of a CSV file (RFC 4180). What a spreadsheet would compute is preceded by an apostrophe: a text that begins with `=`, `+`, `-`, `@`,
 * or with a tab or carriage return that may stand before them. Objects are written as JSON.
 */
function csvCell(value: unknown): string {
  const isObject = typeof value === 'object' && value !== null;
  const text = isObject ? JSON.stringify(value) : `${value ?? ''}`;
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A line with its end. */
export const csvLine = (cells: readonly unknown[]): string => `${cells.map(csvCell).join(',')}\r\n`;
