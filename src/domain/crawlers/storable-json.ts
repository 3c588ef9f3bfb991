/**
 * Rows as JSON that PostgreSQL can store: text of peers may hold NUL or lone surrogates, which go. Hardly any does, and a look at each value
 * takes longer than all the rest, so values are only looked at where the text shows an escape of that kind.
 */
export function storableJson(rows: readonly object[]): string {
  const text = JSON.stringify(rows);
  return text.includes('\\u') ? JSON.stringify(rows, storable) : text;
}

const storable = (_key: string, value: unknown) =>
  typeof value === 'string' ? value.replaceAll('\u0000', '').toWellFormed() : value;
