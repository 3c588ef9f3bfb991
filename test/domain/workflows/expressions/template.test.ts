import { expect, it } from 'vitest';
import { ExpressionSyntaxError } from '../../../../src/domain/workflows/expressions/parse-expression.ts';
import { asText, parseTemplate } from '../../../../src/domain/workflows/expressions/template.ts';
import fc from '../../../support/properties.ts';

const whole = (text: string) =>
  parseTemplate(text).map((part) => ('text' in part ? part.text : [part.expression, part.offset]));

it.each([
  ['', ['']],
  ['plain $ { text }}', ['plain $ { text }}']],
  ['${{ a }}', [[' a ', 3]]],
  ['x ${{a}}${{ b }} y', ['x ', ['a', 5], [' b ', 11], ' y']],
  ['$${{ a }}', ['${{ a }}']],
  ['cost: $$${{ a }}', ['cost: $${{ a }}']],
  ['${{ {"a": {"b": 1}} }}', [[' {"a": {"b": 1}} ', 3]]],
  [`\${{ "}}" & '}}' & \`}}\` }}`, [[` "}}" & '}}' & \`}}\` `, 3]]],
  ['${{ "\\"}}" }}', [[' "\\"}}" ', 3]]],
  ['${{ a /* }} */ }}', [[' a /* }} */ ', 3]]],
])('takes %j apart', (text, parts) => {
  expect(whole(text)).toEqual(parts);
});

it.each(['${{ a', 'x ${{ "}}', '${{ {"a": 1 }}', '${{ /* }}'])('%j is not closed', (text) => {
  expect(() => parseTemplate(text)).toThrow(ExpressionSyntaxError);
});

it('every text can be written so that it stands for itself', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('$', '{', '}', 'a', '"') }), (text) => {
      const escaped = text.replaceAll('${{', () => '$${{');
      const parts = parseTemplate(escaped);
      expect(parts.map((part) => ('text' in part ? part.text : null)).join('')).toBe(text);
    }),
  );
});

it.each([
  ['a', 'a'],
  [undefined, ''],
  [null, ''],
  [1, '1'],
  [{ a: [1] }, '{"a":[1]}'],
])('%j within a text is %j', (value, text) => {
  expect(asText(value)).toBe(text);
});
