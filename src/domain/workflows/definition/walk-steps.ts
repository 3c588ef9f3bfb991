import type { Place, WorkflowDefinition } from './definition.schema.ts';
import type { Step } from './step.schema.ts';

/** How a list of steps within a step comes to run. */
export type ListKind = 'then' | 'else' | 'do' | 'branch' | 'on_timeout';

/** A list of steps within a step. */
export interface InnerList {
  kind: ListKind;
  /** Of a branch. */
  name?: string;
  /** From the step. */
  place: Place;
  steps: readonly Step[];
}

/** The lists of steps within a step, in the order of the text. */
export function innerLists(step: Step): InnerList[] {
  switch (step.type) {
    case 'condition':
      return [
        ...(step.then ? [{ kind: 'then' as const, place: ['then'], steps: step.then }] : []),
        ...(step.else ? [{ kind: 'else' as const, place: ['else'], steps: step.else }] : []),
      ];
    case 'for_each':
      return [{ kind: 'do', place: ['do'], steps: step.do }];
    case 'parallel':
      return Object.entries(step.branches).map(([name, steps]) => ({
        kind: 'branch',
        name,
        place: ['branches', name],
        steps,
      }));
    case 'wait_for_input':
      return Array.isArray(step.on_timeout)
        ? [{ kind: 'on_timeout', place: ['on_timeout'], steps: step.on_timeout }]
        : [];
    default:
      return [];
  }
}

/** A step with where it stands and how deep. */
export interface PlacedStep {
  step: Step;
  place: Place;
  /** 1 for a step of the top. */
  depth: number;
}

/** Every step of a list and of the lists within, in the order of the text. */
export function* stepsWithin(steps: readonly Step[], place: Place, depth = 1): Generator<PlacedStep> {
  for (const [index, step] of steps.entries()) {
    const here = [...place, index];
    yield { step, place: here, depth };
    for (const inner of innerLists(step)) yield* stepsWithin(inner.steps, [...here, ...inner.place], depth + 1);
  }
}

/** Every step of a definition. */
export function* allSteps({ steps, on_failure }: WorkflowDefinition): Generator<PlacedStep> {
  yield* stepsWithin(steps, ['steps']);
  if (on_failure) yield* stepsWithin(on_failure, ['on_failure']);
}
