import type { Page } from '../kernel/paging.ts';

/** Default page size. */
export const defaultFirst = 30;

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

/** The same connection with every item as `change` gives it. */
export function mapConnection<T, U>(connection: Connection<T>, change: (node: T) => U): Connection<U> {
  const nodes = connection.nodes.map(change);
  const edges = connection.edges.map(({ cursor }, index) => ({ cursor, node: nodes[index] as U }));
  return { ...connection, nodes, edges };
}
