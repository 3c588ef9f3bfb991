/** What the workflows of a process share: calls, and the memory of executions. */
import { type FairSlots, sharedSlots } from '../../../lib/fair-queue.ts';
import type { Caller } from '../../../ports/expressions.ts';

/** By what the things that a caller holds are counted: its workflow, and its organisation. */
export const keysOf = ({ workflow_id, organization_id }: Caller) =>
  [workflow_id, `organization ${organization_id}`] as const;

/** Calls of workflows that a process runs at the same time; waiting ones go round robin by workflow. */
export type CallSlots = FairSlots<Caller>;

/** @param most calls at the same time */
export const callSlots = (most: number): CallSlots => sharedSlots(most, keysOf);
