import { ArgsType, Field, Int } from 'type-graphql';
import { fieldError } from '../kernel/errors.ts';
import { maxPerPage, pageFrom, windowOf } from '../kernel/paging.ts';
import { type Connection, connectionFrom, defaultFirst } from './connection.ts';

/** The arguments of a list that its operation gives whole. */
@ArgsType()
export class WholeListArgs {
  @Field(() => Int, {
    nullable: true,
    defaultValue: defaultFirst,
    description: `Items to give, at most ${maxPerPage}`,
  })
  first!: number | null;

  @Field(() => String, { nullable: true, description: 'Cursor of the item to begin behind' })
  after?: string | null;
}

/**
 * A page of a list that is there as a whole.
 * @throws DomainError `invalid_request`
 */
export function connectionOfWhole<T>(items: readonly T[], { first, after }: WholeListArgs): Connection<T> {
  const per_page = first ?? defaultFirst;
  if (per_page < 1 || per_page > maxPerPage)
    throw fieldError('invalid_request', 'first', `must be from 1 to ${maxPerPage}`);
  const window = windowOf({ per_page, after: after ?? undefined });
  const { offset, limit } = window;
  return connectionFrom(pageFrom(items.slice(offset, offset + limit), items.length, window));
}
