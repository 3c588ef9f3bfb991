import type { Page } from '../domain/paging.ts';

/** `Link` of a list (RFC 8288): first, prev, next and last pages of the same query. */
export function linkHeader(originalUrl: string, { page, per_page, total_count }: Page<unknown>): string {
  const last = Math.max(1, Math.ceil(total_count / per_page));
  const to = (target: number, rel: string) => {
    const url = new URL(originalUrl, 'http://localhost');
    url.searchParams.delete('after');
    url.searchParams.set('page', String(target));
    url.searchParams.set('per_page', String(per_page));
    return `<${url.pathname}${url.search}>; rel="${rel}"`;
  };
  const links = [to(1, 'first')];
  if (page > 1) links.push(to(Math.min(page - 1, last), 'prev'));
  if (page < last) links.push(to(page + 1, 'next'));
  return [...links, to(last, 'last')].join(', ');
}
