import type { WorkflowDefinition } from './definition.schema.ts';
import type { Problem } from './problem.ts';
import { allSteps } from './walk-steps.ts';

export const maxSteps = 500;
export const maxNesting = 8;

/** Faults of the tree of steps that no single step shows: how many, how deep, and names given twice. */
export function checkStructure(definition: WorkflowDefinition): Problem[] {
  const problems: Problem[] = [];
  const seen = new Set<string>();
  let count = 0;
  for (const { step, place, depth } of allSteps(definition)) {
    count += 1;
    if (count === maxSteps + 1)
      problems.push({ place, code: 'too_many_steps', message: `is step ${count}; a workflow has at most ${maxSteps}` });
    if (depth === maxNesting + 1)
      problems.push({ place, code: 'too_deep', message: `lies in more than ${maxNesting} lists of steps` });
    if (seen.has(step.id))
      problems.push({
        place: [...place, 'id'],
        code: 'duplicate_id',
        message: `"${step.id}" is the id of another step`,
      });
    seen.add(step.id);
  }
  return problems;
}
