/** A count with its noun: `1 branch`, `2 branches`. */
export const plural = (count: number, one: string, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** A size as people read it: `512 bytes`, `1.5 MiB`. */
export function bytesText(bytes: number): string {
  let [size, unit] = [bytes, 0];
  for (; size >= 1024 && unit < units.length - 1; unit += 1) size /= 1024;
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`;
}

/** `12 refs, 3 pull rows`: refs, then the tables that have rows. */
export function countsText({ refs = 0, ...rows }: Record<string, number>): string {
  const tables = Object.entries(rows).filter(([, count]) => count > 0);
  return [plural(refs, 'ref'), ...tables.map(([name, count]) => plural(count, `${name} row`))].join(', ');
}
