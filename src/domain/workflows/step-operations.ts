import type { z } from 'zod';
import { isGrantable, type Permission } from '../../kernel/actor.ts';
import type { AnyOperation } from '../../kernel/operation.ts';

/** An operation as `operation` steps see it. */
export interface StepOperation {
  operation: AnyOperation;
  permission: Permission;
  /** The operation's own input, without what names the project. */
  input: z.ZodType;
  /** It starts a crawl run or a deployment, whose end a step can wait for. */
  canBeAwaited: boolean;
}

/** The operations that steps may call, by name. */
export type StepOperations = ReadonlyMap<string, StepOperation>;

/** What starts something that ends later: its output names a crawl run or a deployment. */
const starters = new Set(['crawlers.runCrawler', 'studio.startDeployment', 'studio.rerunDeployment']);

/**
 * Whether steps may call an operation: within one project, under a permission that can be granted, and not kept from them. What wants a recent proof
 * of who calls is kept from them, since a step has none to give: a session without one could save a workflow that does it.
 */
export const isForSteps = (operation: AnyOperation): operation is AnyOperation & { permission: Permission } =>
  operation.scope === 'project' &&
  operation.notInSteps !== true &&
  operation.recentProof !== true &&
  isGrantable(operation.permission);

/** The operations that steps may call. */
export function stepOperationsOf(operations: Iterable<AnyOperation>): StepOperations {
  const found = new Map<string, StepOperation>();
  for (const operation of operations) {
    if (!isForSteps(operation)) continue;
    const { name, permission, input } = operation;
    found.set(name, { operation, permission, input, canBeAwaited: starters.has(name) });
  }
  return found;
}
