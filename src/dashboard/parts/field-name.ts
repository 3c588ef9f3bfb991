/** Words for a JSON Pointer (RFC 6901) into a frontmatter: `/seo/meta~1title` → "seo › meta/title". */
export const fieldName = (pointer: string): string =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join(' › ');
