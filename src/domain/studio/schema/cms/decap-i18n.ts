import type { LocaleRules } from '../../slug.ts';
import { at, entriesOf, isTrue, textsOf } from '../static/read-value.ts';
import type { Value } from '../static/values.ts';

export interface Languages {
  rules: LocaleRules;
  /** `single_file`: one file holds every language under its code. */
  structure: 'multiple_folders' | 'multiple_files' | 'multiple_root_folders' | 'single_file';
}

const structures = new Map<string, Languages['structure']>([
  ['multiple_folders', 'multiple_folders'],
  ['multiple_files', 'multiple_files'],
  ['multiple_folders_i18n_root', 'multiple_root_folders'],
  ['multiple_root_folders', 'multiple_root_folders'],
  ['single_file', 'single_file'],
]);

/** The languages of a collection: its own `i18n` over that of the whole configuration; null when it has none. */
export function languagesOf(config: Value, own: Value | undefined): Languages | null {
  if (own === undefined || !(isTrue(own) || own.kind === 'record')) return null;
  const whole = new Map([...entriesOf(at(config, 'i18n')), ...entriesOf(own)]);
  const codes = textsOf(whole.get('locales'));
  const named = whole.get('structure');
  const structure = structures.get((named?.kind === 'scalar' && String(named.value)) || 'multiple_folders');
  if (codes.length === 0 || structure === undefined) return null;
  const [first = null] = codes;
  const fallback = whole.get('default_locale') ?? whole.get('defaultLocale');
  const unmarked = [...whole].some(([key, value]) => key.startsWith('omit_default_locale_from_file') && isTrue(value));
  const rules: LocaleRules = {
    codes,
    default: fallback?.kind === 'scalar' && typeof fallback.value === 'string' ? fallback.value : first,
    placement: structure === 'multiple_files' ? 'suffix' : 'directory',
    default_unmarked: unmarked,
  };
  return { rules, structure };
}

/** The paths `{{locale}}` in a file's path stands for. */
export function localisedPaths(path: string, languages: Languages | null): string[] {
  const mark = /\{\{\s*locale\s*\}\}/g;
  if (!mark.test(path)) return [path];
  return (languages?.rules.codes ?? []).map((code) => path.replace(mark, () => code));
}
