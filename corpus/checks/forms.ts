import { extname } from 'node:path';
import { TomlDate, stringify as tomlText } from 'smol-toml';
import type { Frontmatter, ParsedFile } from '../../src/domain/studio/frontmatter/values.ts';
import { isRecord } from '../../src/lib/objects.ts';
import type { FormName } from '../report.ts';

/** A file in one of the shapes it is tried in. */
export interface Form {
  name: FormName;
  path: string;
  text: string;
}

/** The file as it is and, where it has frontmatter, its conversions, written by the formats' own libraries. */
export function formsOf(path: string, text: string, parsed: ParsedFile): Form[] {
  const forms: Form[] = [{ name: 'own', path, text }];
  const { frontmatter, format, kind } = parsed;
  if (parsed.eol === 'lf') forms.push({ name: 'crlf', path, text: text.replaceAll('\n', '\r\n') });
  if (frontmatter === null || Object.keys(frontmatter).length === 0) return forms;
  const convert = (name: 'toml' | 'json', source: string, mark: string) => {
    const block = mark === '' ? `${source}\n` : `${mark}\n${source}${mark}\n`;
    const file =
      kind === 'data'
        ? { path: `${path.slice(0, -extname(path).length)}.${name}`, text: source }
        : { path, text: `${block}\n${parsed.body}` };
    forms.push({ name, ...file });
  };
  const table = format === 'toml' ? null : tomlOf(frontmatter);
  if (table !== null) convert('toml', table, '+++');
  if (format !== 'json') convert('json', JSON.stringify(frontmatter, null, 2), '');
  return forms;
}

/** null: the library cannot write it. */
function tomlOf(frontmatter: Frontmatter): string | null {
  try {
    const text = tomlText(tomlValues(frontmatter) as Frontmatter);
    return text === '' || text.endsWith('\n') ? text : `${text}\n`;
  } catch {
    return null;
  }
}

/** TOML has no null, and dates of its own. */
function tomlValues(value: unknown): unknown {
  if (typeof value === 'string' && /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])$/.test(value)) {
    return new TomlDate(value);
  }
  if (Array.isArray(value)) return value.filter((item) => item !== null).map(tomlValues);
  if (!isRecord(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([key, member]) => [key, tomlValues(member)]));
}
