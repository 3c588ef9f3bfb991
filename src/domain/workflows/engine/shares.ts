import { FairSlots } from '../../../lib/fair-queue.ts';
import type { Caller } from '../../../ports/expressions.ts';

/**
 * Of what is scarce in a process one workflow may have half, one organisation three quarters, so that slow peers of theirs keep no other waiting.
 * Of what an organisation and a process may have, an eighth of all is reserved for workflows that hold nothing: one more workflow need not wait for
 * two others.
 */
const shares = { workflow: 1 / 2, organization: 3 / 4, reserve: 1 / 8 };

/** What is held: in all, and by the caller's workflow and organisation. */
interface Held {
  all: number;
  workflow: number;
  organization: number;
}

/** By what the things that a caller holds are counted: its workflow, and its organisation. */
export const keysOf = ({ workflow_id, organization_id }: Caller) =>
  [workflow_id, `organization ${organization_id}`] as const;

/** Whether a caller may hold so much more of what there is. A workflow, or an organisation, that holds nothing may go beyond its share. */
export function mayHold(more: number, most: number, { all, workflow, organization }: Held): boolean {
  const mostOf = (share: number) => Math.max(Math.floor(most * share), 1);
  const reserved = workflow === 0 ? 0 : Math.floor(most * shares.reserve);
  return (
    all + more <= most - reserved &&
    (workflow === 0 || workflow + more <= mostOf(shares.workflow)) &&
    (organization === 0 || organization + more <= mostOf(shares.organization) - reserved)
  );
}

/** Calls of workflows that a process runs at the same time; waiting ones go round robin by workflow. */
export type CallSlots = FairSlots<Caller>;

/** @param most calls at the same time */
export function callSlots(most: number): CallSlots {
  return new FairSlots(most, {
    keysOf,
    mayHold(caller, slots) {
      const [workflow = 0, organization = 0] = keysOf(caller).map((key) => slots.heldBy(key));
      return mayHold(1, most, { all: most - slots.free, workflow, organization });
    },
  });
}
