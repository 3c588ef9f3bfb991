import { Evaluator } from '../static/evaluate.ts';
import { parseModule } from '../static/syntax.ts';
import type { Value } from '../static/values.ts';

/**
 * A JSON text as a value with lines. Comments and trailing commas are allowed, as editors' own files have them; anything but data is
 * unknown, as in code.
 * @throws SyntaxError, or RangeError when the nesting exhausts the stack
 */
export async function jsonValue(path: string, text: string): Promise<Value | null> {
  const program = await parseModule(path, `export default (${text.replace(/^\ufeff/, '')}\n)`);
  const module = { path, program, data: null, changed: new Set<string>(), imports: new Map<string, string>() };
  return new Evaluator(new Map([[path, module]])).export(path, 'default');
}
