import type { WorkflowDefinition } from './definition.schema.ts';
import type { Place } from './problem.ts';
import type { Step } from './step.schema.ts';
import { innerLists, type ListKind } from './walk-steps.ts';

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

/** A step as the walk comes by it: what is in scope for its own expressions, and whether it can run at all. */
export interface VisitedStep {
  step: Step;
  place: Place;
  scope: Scope;
  isReachable: boolean;
}

const isEnd = (step: Step) => (step.type === 'fail' || step.type === 'output') && step.if === undefined;

/** The steps that have run after a list, and whether the run always ends within it. */
interface AfterList {
  ran: Map<string, Certainty>;
  ends: boolean;
}

/** Walks lists of steps in the order they run. */
function* walkList(steps: readonly Step[], place: Place, scope: Scope): Generator<VisitedStep, AfterList> {
  const ran = new Map<string, Certainty>();
  let ends = false;
  for (const [index, step] of steps.entries()) {
    const here = [...place, index];
    const known = new Map([...scope.steps, ...ran]);
    yield { step, place: here, scope: { ...scope, steps: known }, isReachable: !ends };
    const lists: (AfterList & { kind: ListKind })[] = [];
    for (const { kind, place: within, steps: inner } of innerLists(step)) {
      const innerScope = { ...scope, steps: known, hasItem: scope.hasItem || kind === 'do' };
      lists.push({ kind, ...(yield* walkList(inner, [...here, ...within], innerScope)) });
    }
    for (const { kind, ran: within } of lists) {
      // The iterations of a loop have many outputs; the loop itself holds them all.
      if (kind === 'do') continue;
      const isSure = kind === 'branch' && step.if === undefined && step.on_error !== 'continue';
      for (const [id, certainty] of within) ran.set(id, isSure ? certainty : 'possible');
    }
    ran.set(step.id, step.if === undefined ? 'certain' : 'possible');
    const always =
      step.type === 'condition' && step.if === undefined ? lists.filter(({ ends }) => ends).length === 2 : false;
    ends ||= isEnd(step) || always;
  }
  return { ran, ends };
}

/** Walks a whole definition, in the order of the text. Returns what is in scope for its `output`. */
export function* walkScopes({ steps, on_failure }: WorkflowDefinition): Generator<VisitedStep, Scope> {
  const nothing: Scope = { steps: new Map(), hasItem: false, hasError: false };
  const { ran } = yield* walkList(steps, ['steps'], nothing);
  const after: Scope = { ...nothing, steps: ran };
  if (on_failure) {
    const possible = new Map([...ran.keys()].map((id) => [id, 'possible' as const]));
    yield* walkList(on_failure, ['on_failure'], { ...nothing, steps: possible, hasError: true });
  }
  return after;
}
