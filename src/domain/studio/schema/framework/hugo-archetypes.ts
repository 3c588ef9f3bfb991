import { parseFile } from '../../frontmatter/parse-file.ts';
import { inferFields } from '../infer-fields.ts';
import type { SiteReading } from '../reader.ts';
import type { SchemaField } from '../schema.schema.ts';
import { below, joinPath } from '../site-layout.ts';
import { field } from '../zod/field-algebra.ts';

const MAX_ARCHETYPES = 100;
const MAX_TEXT = 256 * 1024;
/** Stands for whatever a template action would give. */
const placeholder = 'TEMPLATE-VALUE';

/**
 * The frontmatter of a new page as its archetype would write it. Template actions are not run: a value that contains one has a
 * name and no more.
 */
function archetypeFields(text: string, path: string): SchemaField[] {
  // Without a nested brace an action ends at the first `}}`; what is not closed stays, and makes the file unreadable at worst.
  const filled = text.slice(0, MAX_TEXT).replace(/\{\{[^{}]{0,2000}\}\}/g, (_action, at: number, whole: string) => {
    const quoted = /["']\s*[^"'\n]*$/.test(whole.slice(whole.lastIndexOf('\n', at) + 1, at));
    return quoted ? placeholder : `"${placeholder}"`;
  });
  const { frontmatter } = parseFile(Buffer.from(filled), path);
  if (frontmatter === null) return [];
  return inferFields([frontmatter], '', new Map()).map((one): SchemaField => {
    const value = frontmatter[one.name];
    const open = JSON.stringify(value).includes(placeholder);
    const empty = value === '' || value === null || (Array.isArray(value) && value.length === 0);
    if (open) return { ...field('any'), name: one.name, required: false };
    const plain: SchemaField = { ...one, required: false, nullable: true };
    return empty ? { ...plain, type: value === '' ? 'string' : 'any' } : { ...plain, default: value };
  });
}

/** Fields by the kind of page (`posts`, `default`), from the site's own `archetypes`. */
export async function readArchetypes(reading: SiteReading, directory: string): Promise<Map<string, SchemaField[]>> {
  const base = joinPath(reading.layout.root, directory);
  const found = new Map<string, SchemaField[]>();
  const files = reading.paths.filter((path) => path.startsWith(`${base}/`));
  for (const path of files.slice(0, MAX_ARCHETYPES)) {
    const name = /^([^/]+?)(?:\.md|\/index\.md)$/.exec(below(base, path) ?? '')?.[1];
    if (name === undefined) continue;
    reading.dependencies.add(path);
    const text = await reading.site.read(path);
    if (text === null) continue;
    const fields = archetypeFields(text, path);
    if (fields.length === 0 && text.trim() !== '') {
      reading.warnings.push({
        code: 'archetype_unread',
        message: 'The archetype has no frontmatter that can be read',
        path,
      });
    }
    found.set(name, fields);
  }
  return found;
}
