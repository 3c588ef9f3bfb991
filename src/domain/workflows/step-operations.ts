import type { z } from 'zod';
import type { AnyOperation } from '../../kernel/operation.ts';
import { type Permission, permissions } from '../../kernel/permissions.ts';

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

const isGrantable = (name: string): name is Permission => Object.hasOwn(permissions, name);

/** An operation, and whether it moves files or streams, which steps have not. */
export interface Candidate {
  operation: AnyOperation;
  needsStream: boolean;
}

/** Whether steps may call an operation: within one project, under a permission that can be granted, and not kept from workflows. */
export const isForSteps = (
  candidate: Candidate,
): candidate is Candidate & { operation: { permission: Permission } } => {
  const { scope, workflow, permission } = candidate.operation;
  return scope === 'project' && workflow !== false && !candidate.needsStream && isGrantable(permission);
};

/** The operations that steps may call. */
export function stepOperationsOf(operations: Iterable<Candidate>): StepOperations {
  const found = new Map<string, StepOperation>();
  for (const candidate of operations) {
    if (!isForSteps(candidate)) continue;
    const { operation } = candidate;
    const { name, permission, input } = operation;
    found.set(name, { operation, permission, input, canBeAwaited: starters.has(name) });
  }
  return found;
}
