import { fieldError } from '../kernel/errors.ts';
import { maxPerPage, type Page, pageFrom, windowOf } from '../kernel/paging.ts';

/** Default page size. */
export const defaultFirst = 30;

/** Paging arguments as sent. */
export interface ListArguments {
  first?: number | null;
  after?: string | null;
}

/** The requested page size. @throws DomainError `invalid_request` */
export function pageSize(first: number | null | undefined): number {
  const size = first ?? defaultFirst;
  if (size >= 1 && size <= maxPerPage) return size;
  throw fieldError('invalid_request', 'first', `must be from 1 to ${maxPerPage}`);
}

export interface Connection<T> {
  edges: { cursor: string; node: T }[];
  nodes: T[];
  page_info: {
    has_next_page: boolean;
    has_previous_page: boolean;
    start_cursor: string | null;
    end_cursor: string | null;
  };
  total_count: number;
}

/** A page of a list in GraphQL's form. */
export function connectionFrom<T>(page: Page<T>): Connection<T> {
  const { items, cursors, total_count, has_next_page, has_previous_page } = page;
  return {
    edges: items.map((node, index) => ({ cursor: cursors[index] ?? '', node })),
    nodes: items,
    page_info: {
      has_next_page,
      has_previous_page,
      start_cursor: cursors[0] ?? null,
      end_cursor: cursors.at(-1) ?? null,
    },
    total_count,
  };
}

/**
 * A page of a list that is there as a whole.
 * @throws DomainError `invalid_request`
 */
export function connectionOfWhole<T>(items: readonly T[], { first, after }: ListArguments): Connection<T> {
  const window = windowOf({ per_page: pageSize(first), after: after ?? undefined });
  const { offset, limit } = window;
  return connectionFrom(pageFrom(items.slice(offset, offset + limit), items.length, window));
}
