/** A number with its noun: `1 file`, `2 files`; the plural of most nouns need not be given. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;
