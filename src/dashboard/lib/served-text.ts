import { i18n } from './i18n.ts';

/**
 * A text that the server gives in English, in the language of the person where the catalogue has it.
 * @param code what it is for and the server's code, such as `problem_steps`
 * @param values what it names
 */
export function servedText(code: string, english: string, values: unknown): string {
  const key = `served:${code}` as 'common:save';
  return i18n.exists(key) ? i18n.t(key, values as Record<string, unknown>) : english;
}
