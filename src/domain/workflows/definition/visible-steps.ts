import type { WorkflowDefinition } from './definition.schema.ts';
import type { Place } from './problem.ts';
import type { Step } from './step.schema.ts';
import { innerLists } from './walk-steps.ts';

/** Whether a step has run by the time another place is reached: surely, or only if the run went that way. */
export type Certainty = 'certain' | 'possible';

/** What an expression at a place can name. */
export interface Scope {
  steps: ReadonlyMap<string, Certainty>;
  /** Inside a `for_each`: `item` and `index`. */
  hasItem: boolean;
  /** Inside `on_failure`: `error`. */
  hasError: boolean;
}

/** Told of each step, in the order of the text, with what is in scope for its own expressions. */
export type VisitStep = (step: Step, place: Place, scope: Scope, isReachable: boolean) => void;

const isEnd = (step: Step) => (step.type === 'fail' || step.type === 'output') && step.if === undefined;

/**
 * Walks lists of steps in the order they run.
 * @returns the steps that have run after the list, and whether the run always ends within it
 */
function walkList(
  steps: readonly Step[],
  place: Place,
  scope: Scope,
  visit: VisitStep,
): { ran: Map<string, Certainty>; ends: boolean } {
  const ran = new Map<string, Certainty>();
  let ends = false;
  for (const [index, step] of steps.entries()) {
    const here = [...place, index];
    const known = new Map([...scope.steps, ...ran]);
    visit(step, here, { ...scope, steps: known }, !ends);
    const lists = innerLists(step).map((inner) => ({
      inner,
      ...walkList(
        inner.steps,
        [...here, ...inner.place],
        { ...scope, steps: known, hasItem: scope.hasItem || inner.kind === 'do' },
        visit,
      ),
    }));
    for (const { inner, ran: within } of lists) {
      // The iterations of a loop have many outputs; the loop itself holds them all.
      if (inner.kind === 'do') continue;
      const isSure = inner.kind === 'branch' && step.if === undefined && step.on_error !== 'continue';
      for (const [id, certainty] of within) ran.set(id, isSure ? certainty : 'possible');
    }
    ran.set(step.id, step.if === undefined ? 'certain' : 'possible');
    const always =
      step.type === 'condition' && step.if === undefined ? lists.filter(({ ends }) => ends).length === 2 : false;
    ends ||= isEnd(step) || always;
  }
  return { ran, ends };
}

/** Walks a whole definition. @returns what is in scope for its `output` */
export function walkScopes({ steps, on_failure }: WorkflowDefinition, visit: VisitStep): Scope {
  const nothing: Scope = { steps: new Map(), hasItem: false, hasError: false };
  const { ran } = walkList(steps, ['steps'], nothing, visit);
  const after: Scope = { ...nothing, steps: ran };
  if (on_failure) {
    const possible = new Map([...ran.keys()].map((id) => [id, 'possible' as const]));
    walkList(on_failure, ['on_failure'], { ...nothing, steps: possible, hasError: true }, visit);
  }
  return after;
}
