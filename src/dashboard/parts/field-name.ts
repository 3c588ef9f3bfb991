/** The keys a JSON Pointer (RFC 6901) leads over. */
const keysOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

/** Words for a JSON Pointer into a frontmatter: `/seo/meta~1title` → "seo › meta/title". */
export const fieldName = (pointer: string): string => keysOf(pointer).join(' › ');

/** The value a JSON Pointer leads to; undefined: there is none. */
export const valueAt = (root: unknown, pointer: string): unknown =>
  keysOf(pointer).reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Record<string, unknown>)[key]
        : undefined,
    root,
  );
