import type { GraphqlContext } from '../../context.ts';
import { follow, type Source } from '../../stream/follow.ts';
import type { ProjectArgs } from '../places.ts';

export const afterDescription = 'Position (`id` of an event) to go on behind; the header Last-Event-ID counts more';

/** What a subscription of a project is asked with. */
export interface Asked<Own> {
  args: ProjectArgs & { after?: string | null } & Own;
  context: GraphqlContext;
}

/** Begins a subscription where the client says it was. */
export function begin<T>({ args, context }: Asked<object>, source: Source<T>): AsyncIterable<T | null> {
  context.stream.after ??= args.after ?? null;
  return follow(context, source);
}
