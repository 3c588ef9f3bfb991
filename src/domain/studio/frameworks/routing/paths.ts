/** The directory of a path; `''` at the top. */
export const directoryOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));
export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
/** Without the last extension; a leading dot is part of the name. */
export const withoutExtension = (path: string): string => path.replace(/(?<=[^/])\.[^./]*$/, '');

/** `/` and the parts, without empty segments; a slash at the end of the last part stays. */
export function urlPath(...parts: string[]): string {
  return `/${parts.join('/')}`.replace(/\/{2,}/g, '/');
}

/** `docs`, `/docs/` and `https://host/docs` → `/docs`; `''` for the top. */
export function basePath(text: string | undefined): string {
  const path = (text ?? '').replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '').replace(/[?#].*/s, '');
  return urlPath(path).replace(/\/$/, '');
}

/** A path of a URL, percent-encoded; what is encoded already stays. */
export const encodePath = (path: string): string =>
  encodeURI(path.replace(/[\ud800-\udfff]/gu, '\ufffd'))
    .replace(/%25(?=[0-9a-f]{2})/gi, '%')
    .replaceAll('#', '%23')
    .replaceAll('?', '%3F');

/** The opposite of `encodePath`; what is no encoding stays. */
export function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

const dropped = /[^\p{Alphabetic}\p{M}\p{Nd}\p{Nl}\p{Pc}\- ]/gu;

/** A heading or name as GitHub makes anchors of it: small letters, digits and hyphens, without the rest. */
export const githubSlug = (text: string): string => text.toLowerCase().replace(dropped, '').replaceAll(' ', '-');

/** The id of an entry by its path below the collection's base, without extension. */
export function entryId(stem: string, slug: unknown): string {
  if (typeof slug === 'string' && slug !== '') return slug;
  return stem
    .split('/')
    .map(githubSlug)
    .join('/')
    .replace(/\/index$/, '');
}
