import { maxPerPage, type Page } from '../domain/paging.ts';

/**
 * `Link` of a list (RFC 8288): first, prev, next and last pages of the same query. A list that was answered whole is its own first and last page;
 * one that did not fit goes on in pages of the ordinary size.
 */
export function linkHeader(originalUrl: string, list: Page<unknown>): string {
  const { page, total_count } = list;
  const isWhole = list.per_page > maxPerPage;
  const per_page = Math.min(list.per_page, maxPerPage);
  const to = (target: number | null, rel: string) => {
    const url = new URL(originalUrl, 'http://localhost');
    url.searchParams.delete('after');
    if (target !== null) {
      url.searchParams.set('page', String(target));
      url.searchParams.set('per_page', String(per_page));
    }
    return `<${url.pathname}${url.search}>; rel="${rel}"`;
  };
  if (isWhole && total_count <= list.per_page) return [to(null, 'first'), to(null, 'last')].join(', ');
  const last = Math.max(1, Math.ceil(total_count / per_page));
  const next = isWhole ? list.per_page / per_page + 1 : page + 1;
  const links = [to(1, 'first')];
  if (page > 1) links.push(to(Math.min(page - 1, last), 'prev'));
  if (next <= last) links.push(to(next, 'next'));
  return [...links, to(last, 'last')].join(', ');
}
