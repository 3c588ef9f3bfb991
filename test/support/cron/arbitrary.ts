import fc from '../properties.ts';

const months = ['JAN', 'feb', 'Mar', 'APR', 'MAY', 'jun', 'JUL', 'AUG', 'SEP', 'oct', 'NOV', 'DEC'];
const weekdays = ['SUN', 'mon', 'Tue', 'WED', 'THU', 'fri', 'SAT'];

interface Field {
  min: number;
  max: number;
  span: number;
  names: string[];
}
const fields: Field[] = [
  { min: 0, max: 59, span: 60, names: [] },
  { min: 0, max: 23, span: 24, names: [] },
  { min: 1, max: 31, span: 31, names: [] },
  { min: 1, max: 12, span: 12, names: months },
  { min: 0, max: 7, span: 7, names: weekdays },
];

function spelled({ names, min }: Field, value: number, style: number): string {
  const name = names[value - min];
  if (style === 0 && name !== undefined) return name;
  return style === 1 ? String(value).padStart(2, '0') : String(value);
}

const item = (field: Field): fc.Arbitrary<string> => {
  const step = fc.integer({ min: 1, max: field.span });
  const value = fc.integer({ min: field.min, max: field.max });
  const style = fc.nat({ max: 4 });
  const range = fc
    .tuple(value, value, style)
    .map(([a, b, how]) => `${spelled(field, Math.min(a, b), how)}-${spelled(field, Math.max(a, b), how)}`);
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant('*') },
    { weight: 2, arbitrary: step.map((by) => `*/${by}`) },
    { weight: 5, arbitrary: fc.tuple(value, style).map(([one, how]) => spelled(field, one, how)) },
    { weight: 3, arbitrary: range },
    { weight: 2, arbitrary: fc.tuple(range, step).map(([from, by]) => `${from}/${by}`) },
  );
};

const fieldText = (field: Field) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant('*') },
    { weight: 5, arbitrary: fc.array(item(field), { minLength: 1, maxLength: 3 }).map((items) => items.join(',')) },
  );

/** Expressions the grammar allows; some of them never occur. */
export const cronExpression: fc.Arbitrary<string> = fc
  .tuple(fc.tuple(...fields.map(fieldText)), fc.constantFrom(' ', '  ', '\t'))
  .map(([texts, blank]) => texts.join(blank));
