import type { EntityManager, EntityName, FilterQuery, FindOptions } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DomainError, fieldError } from './errors.ts';

export const maxPerPage = 100;
/** Items of a list that is answered whole. */
export const maxWhole = 1_000;
/** Bytes of what the records of one page show: answering with them takes several times as much memory. */
const mostShown = 64 * 1024 * 1024;

/** The number of a page, or how many items it has. A number of any size is taken, as the largest that makes a difference. */
export const pageNumber = z.int().min(1, 'must be at least 1').meta({ format: 'int32' }).optional();

/** The input of every list: pages for REST, an opaque cursor for GraphQL. */
export const pageInput = {
  page: pageNumber.describe('Page number, from 1'),
  per_page: pageNumber.describe('Items per page; default 30, values above 100 are taken as 100'),
  after: z.string().max(500).optional().describe('Cursor: the list continues after this item; excludes `page`'),
};

/** The input of a list that is answered whole to clients that do not page. */
export const wholePageInput = {
  ...pageInput,
  per_page: pageNumber.describe(
    'Items per page; values above 100 are taken as 100. Without `page`, `per_page` and `after` the answer is the ' +
      'whole list, up to 1,000 items; otherwise the default is 30',
  ),
};

/** A window of a list, with what a protocol needs to lead on from it. */
export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({
    items: z.array(item),
    cursors: z.array(z.string()),
    total_count: z.int(),
    page: z.int(),
    per_page: z.int(),
    has_next_page: z.boolean(),
    has_previous_page: z.boolean(),
  });

export interface Page<T> {
  items: T[];
  cursors: string[];
  total_count: number;
  page: number;
  per_page: number;
  has_next_page: boolean;
  has_previous_page: boolean;
}

export interface Window {
  offset: number;
  limit: number;
  page: number;
  /** What the cursor named as the list's version, when one was given. */
  version: string | null;
}

/** A cursor is the list's version (a tree or commit oid, or nothing) and a position in it. */
export function encodeCursor(version: string | null, position: number): string {
  return Buffer.from(`${version ?? ''}:${position}`).toString('base64url');
}

function decodeCursor(cursor: string): { version: string | null; position: number } {
  const match = /^([0-9a-f]*):(\d{1,9})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'));
  if (!match) throw fieldError('invalid_request', 'after', 'is not a cursor this list gave out');
  return { version: match[1] || null, position: Number(match[2]) };
}

interface Paging {
  page?: number | undefined;
  per_page?: number | undefined;
  after?: string | undefined;
}

/**
 * Converts paging input to a window.
 * @throws DomainError `invalid_request` when `after` is not a cursor or comes with `page`.
 */
export function windowOf(input: Paging): Window {
  const limit = Math.min(input.per_page ?? 30, maxPerPage);
  if (input.after === undefined) {
    const page = input.page ?? 1;
    return { offset: (page - 1) * limit, limit, page, version: null };
  }
  if (input.page !== undefined) throw fieldError('invalid_request', 'after', 'excludes page; give one of the two');
  const { version, position } = decodeCursor(input.after);
  return { offset: position + 1, limit, page: Math.floor((position + 1) / limit) + 1, version };
}

/** The window of a list that is answered whole, up to `maxWhole` items, unless paging is requested. @throws like `windowOf` */
export function wholeWindowOf(input: Paging): Window {
  const isPaged = input.page !== undefined || input.per_page !== undefined || input.after !== undefined;
  return isPaged ? windowOf(input) : { offset: 0, limit: maxWhole, page: 1, version: null };
}

/** Dresses the items of a window as a page. `total` counts the whole list. */
export function pageFrom<T>(items: T[], total: number, window: Window, version: string | null = null): Page<T> {
  return {
    items,
    cursors: items.map((_, index) => encodeCursor(version, window.offset + index)),
    total_count: total,
    page: window.page,
    per_page: window.limit,
    has_next_page: window.offset + items.length < total && items.length > 0,
    has_previous_page: window.offset > 0,
  };
}

/** The length of a list of which a page has so many items: counted only where the page is full, for another one ends the list. */
export async function totalOf(found: number, { offset, limit }: Window, count: () => Promise<number>): Promise<number> {
  const isLast = found < limit && (found > 0 || offset === 0);
  return isLast ? offset + found : count();
}

/**
 * Finds one page of the rows of a table. @returns the rows, and what dresses their records as the page
 * @param paging input of a list, or its window
 * @throws DomainError like `windowOf`
 */
export async function findPage<Row extends object, Fields extends string = '*', Excluded extends string = never>(
  em: EntityManager,
  paging: Paging | Window,
  entity: EntityName<Row>,
  where: FilterQuery<NoInfer<Row>>,
  options: FindOptions<Row, never, Fields, Excluded>,
) {
  const window = 'offset' in paging ? paging : windowOf(paging);
  const { offset, limit } = window;
  // The mapper requires another type of condition where an entity names its indexes, which none does.
  const rows = await em.find(entity, where as never, { ...options, offset, limit });
  const total = await totalOf(rows.length, window, () => em.count(entity, where as never));
  return { rows, asPage: <T>(items: T[]): Page<T> => pageFrom(items, total, window) };
}

/** A column that may be large, by names that stand in the code, and how often a record shows what it holds. */
interface LargeColumn {
  table: string;
  column: string;
  times?: number;
  /** The column that holds the ids; default: `id`. */
  key?: string;
}

/**
 * Takes room for what the records of a page show of a column, before it is read.
 * @throws DomainError `too_large` for more than one page has; as `room` does
 */
export async function roomForPage(
  { em, room }: { em: EntityManager; room(bytes: number): Promise<void> },
  { table, column, times = 1, key = 'id' }: LargeColumn,
  ids: readonly number[],
): Promise<void> {
  const sizeSql = `select coalesce(sum(octet_length(${column}::text)), 0)::float8 as bytes from ${table}
    where ${key} = any(string_to_array(?, ' ')::integer[])`;
  const [{ bytes }] = (await em.execute(sizeSql, [ids.join(' ')])) as [{ bytes: number }];
  if (times * bytes > mostShown)
    throw new DomainError(
      'too_large',
      `The records of one page have at most ${mostShown} bytes; choose a shorter page by per_page or first`,
    );
  await room(times * bytes);
}
