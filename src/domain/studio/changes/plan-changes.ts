import { setImmediate as nextTurn } from 'node:timers/promises';
import { DomainError } from '../../errors.ts';
import type { Change, CommitPlan, StagedTree } from '../../ports/git-writes.ts';
import { messageOf } from '../entries/write-entry.ts';
import type { Warning } from '../schema/schema.schema.ts';
import type { ChangeResult } from './changes.schema.ts';
import { naming } from './name-action.ts';
import { type Done, planAction, type ReadyAction } from './plan-action.ts';
import { advance, contentAt, type PlanContext, type StagedContent, type Step } from './staged-content.ts';

interface ChangesOptions {
  message: string | undefined;
  expected_head: string | undefined;
}

/**
 * Plans a commit of several actions: each sees what those before it did, and all are held against what they leave behind together.
 * @throws DomainError `branch_moved`, and what each action's own operation throws, with the action named
 */
export async function planChanges(
  context: PlanContext,
  head: StagedTree,
  actions: readonly ReadyAction[],
  { message, expected_head }: ChangesOptions,
): Promise<CommitPlan<ChangeResult[]>> {
  checkHead(head, expected_head);
  let staged = await contentAt(context, head);
  const steps: Step<Done>[] = [];
  const results: Omit<ChangeResult, 'warnings'>[] = [];
  for (const [at, ready] of actions.entries()) {
    // A hundred large entries take seconds together: others are served between them.
    await nextTurn();
    await naming(at, ready.action, async () => {
      const step = await planAction(context, staged, ready);
      staged = await advance(context, staged, step.changes);
      const { entry } = await staged.tree.lookup(step.result.path);
      steps.push(step);
      results.push({ ...step.result, sha: entry?.oid ?? null, unchanged: step.changes.length === 0 });
    });
  }
  const warnings = await checkAll(actions, steps, staged);
  return {
    changes: lastOfEachPath(steps),
    message: messageOf(message, describe(steps)),
    result: results.map((result, at) => ({ ...result, warnings: warnings[at] ?? [] })),
  };
}

function checkHead({ commit }: StagedTree, expected: string | undefined): void {
  if (expected === undefined || expected === commit) return;
  const details = { current_sha: commit };
  throw new DomainError('branch_moved', 'expected_head: the branch has moved since it was read', { details });
}

/**
 * Asked together, so that what several of them have to read is read once, and begun one after another; the first action with a fault is named.
 */
async function checkAll(
  actions: readonly ReadyAction[],
  steps: readonly Step<Done>[],
  after: StagedContent,
): Promise<Warning[][]> {
  let turn = Promise.resolve();
  const checks = steps.map((step, at) => {
    turn = turn.then(() => nextTurn());
    return turn.then(() => naming(at, actions[at]?.action ?? {}, () => step.check(after)));
  });
  const outcomes = await Promise.allSettled(checks);
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
}

function lastOfEachPath(steps: readonly Step<Done>[]): Change[] {
  const changes = steps.flatMap((step) => step.changes);
  return [...new Map(changes.map((change) => [change.path, change])).values()];
}

function describe(steps: readonly Step<Done>[]): string {
  const [only, ...others] = steps.map(({ summary }) => summary);
  if (only === undefined || others.length === 0) return only ?? '';
  return `Make ${steps.length} changes\n\n${[only, ...others].join('\n')}`;
}
