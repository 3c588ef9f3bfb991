import type { TurnInput } from '../../frontier/turn/turn-input.ts';
import type { SliceOptions } from './slice-options.ts';

/** What a turn of a slice is given. */
export function turnInput(
  { open, snapshot, hosts, context, takeLog }: SliceOptions,
  given: Pick<TurnInput, 'census' | 'outcomes' | 'want' | 'rate'>,
): TurnInput {
  const { id, project_id, epoch } = open.run;
  const { site } = context.discovery;
  return {
    ...given,
    run: { id, project_id, epoch, snapshot_id: snapshot.id, base_id: snapshot.base_id },
    budget: open.limits.budget,
    delayOf: (host) => Math.max(open.limitsOf(host).delay, site.crawlDelay(host)),
    isDown: (host) => hosts.isDown(host),
    log: takeLog(),
  };
}
