import { ExpressionSyntaxError } from '../expressions/syntax-error.ts';
import { parseTemplate } from '../expressions/template.ts';
import type { Place, Problem } from './problem.ts';
import type { Step } from './step.schema.ts';

/** An expression of a definition. */
export interface PlacedExpression {
  text: string;
  place: Place;
  /** Where the expression begins within the text at its place. */
  offset: number;
  /** Whether `secrets` may be named in it. */
  maySecret: boolean;
}

/** The expressions in the templates of a value, whatever its shape; a template that is not closed is a problem. */
export function templatesIn(value: unknown, place: Place, problems: Problem[], maySecret = false): PlacedExpression[] {
  if (typeof value === 'string') {
    try {
      return parseTemplate(value).flatMap((part) =>
        'expression' in part ? [{ text: part.expression, place, offset: part.offset, maySecret }] : [],
      );
    } catch (error) {
      if (!(error instanceof ExpressionSyntaxError)) throw error;
      problems.push({ place, code: 'syntax', message: error.message, offset: error.position });
      return [];
    }
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    templatesIn(item, [...place, Array.isArray(value) ? Number(key) : key], problems, maySecret),
  );
}

/** The expressions a step itself evaluates before or while it runs; not those of the steps within it. */
export function expressionsOf(step: Step, place: Place, problems: Problem[]): PlacedExpression[] {
  const bare = (name: string, text: string | undefined): PlacedExpression[] =>
    text === undefined ? [] : [{ text, place: [...place, name], offset: 0, maySecret: false }];
  const within = (name: string, value: unknown, maySecret = false) =>
    templatesIn(value, [...place, name], problems, maySecret);
  const own = (): PlacedExpression[] => {
    switch (step.type) {
      case 'http':
        return (['url', 'query', 'headers', 'body'] as const).flatMap((name) => within(name, step[name], true));
      case 'transform':
      case 'condition':
        return bare('expression', step.expression);
      case 'for_each':
        return bare('items', step.items);
      case 'delay':
        return [...within('for', step.for), ...within('until', step.until)];
      case 'wait_for_input':
        return within('message', step.message);
      case 'operation':
        return within('with', step.with);
      case 'fail':
        return within('message', step.message);
      case 'output':
        return bare('value', step.value);
      case 'parallel':
        return [];
    }
  };
  return [...bare('if', step.if), ...own()];
}
