import type { GraphqlContext } from '../../context.ts';
import { follow, type Source } from '../../stream/follow.ts';
import type { ProjectArgs } from '../places.ts';

export const afterDescription = 'Position (`id` of an event) to go on behind; the header Last-Event-ID counts more';

/** Arguments and context of a project's subscription. */
export interface Asked<Own> {
  args: ProjectArgs & { after?: string | null } & Own;
  context: GraphqlContext;
}

/** Begins a subscription at the client's last position. */
export function begin<T>({ args, context }: Asked<object>, source: Source<T>): AsyncIterable<T | null> {
  context.stream.after ??= args.after ?? null;
  return follow(context, source);
}
