import { FairSlots } from '../../../lib/fair-queue.ts';
import type { Caller } from '../../../ports/expressions.ts';

/**
 * Of all slots one workflow may have half, one organisation three quarters, so that slow peers of theirs keep no other waiting. Of what an
 * organisation and a process may have, an eighth of all slots is reserved for workflows of which no call is running: one more workflow need not wait
 * for the slow calls of two others.
 */
const shares = { workflow: 1 / 2, organization: 3 / 4, reserve: 1 / 8 };

/** Calls of workflows that a process runs at the same time; waiting ones go round robin by workflow. */
export type CallSlots = FairSlots<Caller>;

/** @param most calls at the same time */
export function callSlots(most: number): CallSlots {
  const mostOf = (share: number) => Math.max(Math.floor(most * share), 1);
  const keysOf = ({ workflow_id, organization_id }: Caller) =>
    [workflow_id, `organization ${organization_id}`] as const;
  return new FairSlots(most, {
    keysOf,
    mayHold(caller, slots) {
      const [ofWorkflow = 0, ofOrganization = 0] = keysOf(caller).map((key) => slots.heldBy(key));
      const reserved = ofWorkflow === 0 ? 0 : Math.floor(most * shares.reserve);
      return (
        slots.free > reserved &&
        ofWorkflow < mostOf(shares.workflow) &&
        ofOrganization < mostOf(shares.organization) - reserved
      );
    },
  });
}
