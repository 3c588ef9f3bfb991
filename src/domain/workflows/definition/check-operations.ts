import type { z } from 'zod';
import { faultOf } from '../../parse.ts';
import type { Permission } from '../../permissions.ts';
import { hasTemplate } from '../expressions/template.ts';
import type { StepOperations } from '../step-operations.ts';
import type { WorkflowDefinition } from './definition.schema.ts';
import type { Problem } from './problem.ts';
import { allSteps } from './walk-steps.ts';

const holdsTemplate = (value: unknown): boolean =>
  typeof value === 'string'
    ? hasTemplate(value)
    : typeof value === 'object' && value !== null && Object.values(value).some(holdsTemplate);

/**
 * Faults of `operation` steps: operations that do not exist or cannot be used in workflows, permissions the workflow does not list, and literal
 * inputs the operation refuses. What holds a template is known only when it runs.
 */
export function checkOperations(definition: WorkflowDefinition, operations: StepOperations): Problem[] {
  const problems: Problem[] = [];
  const held = new Set<Permission>(definition.permissions);
  for (const { step, place } of allSteps(definition)) {
    if (step.type !== 'operation') continue;
    const operation = operations.get(step.operation);
    if (operation === undefined) {
      const message = `operation "${step.operation}" does not exist or cannot be used in workflows`;
      problems.push({ place: [...place, 'operation'], code: 'unknown_operation', message });
      continue;
    }
    if (!held.has(operation.permission)) {
      const message = `needs ${operation.permission}, which is not among the workflow's permissions`;
      problems.push({ place: [...place, 'operation'], code: 'missing_permission', message });
    }
    if (step.wait === true && !operation.canBeAwaited)
      problems.push({
        place: [...place, 'wait'],
        code: 'not_awaitable',
        message: 'starts nothing that could be waited for',
      });
    const given = step.with ?? {};
    const { shape } = operation.input as Partial<z.ZodObject>;
    for (const name of Object.keys(given))
      if (shape && !Object.hasOwn(shape, name))
        problems.push({
          place: [...place, 'with', name],
          code: 'unknown_key',
          message: `is no input of ${step.operation}`,
        });
    const parsed = operation.input.safeParse(given, { reportInput: true });
    for (const issue of parsed.success ? [] : parsed.error.issues) {
      const at = issue.path.reduce<unknown>(
        (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
        given,
      );
      if (holdsTemplate(at)) continue;
      const path = issue.path.map((key) => (typeof key === 'number' ? key : String(key)));
      problems.push({ place: [...place, 'with', ...path], code: 'invalid_input', message: faultOf(issue) });
    }
  }
  return problems;
}
