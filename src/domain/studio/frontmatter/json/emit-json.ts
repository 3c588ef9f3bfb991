import { isRecord } from '../values.ts';
import { numberText } from '../yaml/scalar-text.ts';

/** JSON text. With a step, members stand on lines of their own, `indent` being the indentation of the closing bracket. */
export function jsonText(value: unknown, step: string, indent: string, eol: string): string {
  if (typeof value === 'number') return numberText(value);
  if (Array.isArray(value)) return wrap('[', value.map(member), ']');
  if (!isRecord(value)) return JSON.stringify(value);
  return wrap(
    '{',
    Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}: ${member(inner)}`),
    '}',
  );

  function member(inner: unknown): string {
    return jsonText(inner, step, indent + step, eol);
  }

  function wrap(open: string, members: string[], close: string): string {
    if (members.length === 0) return open + close;
    if (step === '') return open + members.join(', ') + close;
    return [open, members.map((text) => indent + step + text).join(`,${eol}`), indent + close]
      .join(eol)
      .replace(open + eol, open + eol);
  }
}
