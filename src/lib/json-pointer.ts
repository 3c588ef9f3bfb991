/** JSON Pointers (RFC 6901). */

/** The pointer of a member: `~` and `/` of its name are escaped. */
export const pointerTo = (parent: string, key: PropertyKey): string =>
  `${parent}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;

/** The pointer of a place given by its names from the root on. */
export const pointer = (path: readonly PropertyKey[]): string => path.reduce<string>(pointerTo, '');

/** The names of a pointer; undefined when it is not one (section 3). */
export function parsePointer(text: string): string[] | undefined {
  if (text === '') return [];
  if (!text.startsWith('/') || /~(?![01])/.test(text)) return undefined;
  return text
    .slice(1)
    .split('/')
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The value a pointer leads to through own members; undefined without one. */
export function valueAt(root: unknown, text: string): unknown {
  return parsePointer(text)?.reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined,
    root,
  );
}

/** Keys of one file that are shown, and characters of their pointers, as of their labels: a frontmatter has room for tens of thousands, and one may have 200,000 letters. */
export const mostPointers = 1_000;
export const longestPointers = 64 * 1024;

/** The first pointers that are shown. */
export function shownPointers(pointers: readonly string[]): string[] {
  let left = longestPointers;
  return pointers.slice(0, mostPointers).filter(({ length }) => {
    left -= length;
    return left >= 0;
  });
}
