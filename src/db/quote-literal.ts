/**
 * A text as a literal of SQL, as libpq's `PQescapeLiteral` writes it. The mapper's own goes character by character, which took longer than
 * the statements themselves where a batch of rows is one text of JSON.
 */
export function quoteLiteral(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}
