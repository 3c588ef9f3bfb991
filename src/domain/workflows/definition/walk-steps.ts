import { typeOf } from '../step-types.ts';
import type { Step } from '../steps/step-type.ts';
import type { WorkflowDefinition } from './definition.schema.ts';
import type { Place } from './parse-source.ts';

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
    for (const inner of typeOf(step).lists?.(step) ?? [])
      yield* stepsWithin(inner.steps, [...here, ...inner.place], depth + 1);
  }
}

/** Every step of a definition. */
export function* allSteps({ steps, on_failure }: WorkflowDefinition): Generator<PlacedStep> {
  yield* stepsWithin(steps, ['steps']);
  if (on_failure) yield* stepsWithin(on_failure, ['on_failure']);
}
