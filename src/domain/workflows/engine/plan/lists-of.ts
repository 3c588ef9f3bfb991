import type { Step } from '../../definition/step.schema.ts';

/** The lists within a step whose steps others may see, each with what their paths begin with. */
export function listsOf(step: Step, path: string): [prefix: string, steps: readonly Step[]][] {
  if (step.type === 'condition')
    return [
      [`${path}.then.`, step.then ?? []],
      [`${path}.else.`, step.else ?? []],
    ];
  if (step.type === 'parallel')
    return Object.entries(step.branches).map(([name, steps]) => [`${path}.${name}.`, steps]);
  if (step.type === 'wait_for_input' && Array.isArray(step.on_timeout))
    return [[`${path}.on_timeout.`, step.on_timeout]];
  return [];
}
