import type { z } from 'zod';
import { faultOf } from '../../../parse.ts';
import { crawlerFields } from '../crawler-fields.ts';

type Fields = typeof crawlerFields;
export type FieldName = keyof Fields;
type Values = { [Name in FieldName]: z.output<Fields[Name]> };

/** What a body says field by field: a value, null for "as by default", or nothing. */
export type DraftValues = { [Name in FieldName]?: Values[Name] | null };

/** A fault of a field, or of a place in it. */
export interface DraftFault {
  field: FieldName;
  /** Below the field. */
  path: readonly PropertyKey[];
  /** What is wrong, as it follows the field's name. */
  message: string;
}

export const fieldNames = Object.keys(crawlerFields) as FieldName[];

/** `[2].url` of a place below a field. */
const placeText = (path: readonly PropertyKey[]) =>
  path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
    .replace(/^\./, '');

/** A fault in words that name its place below the field. */
export const faultAt = (field: FieldName, path: readonly PropertyKey[], problem: string): DraftFault => ({
  field,
  path,
  message: [placeText(path), problem].filter(Boolean).join(path.length > 0 ? ' ' : ''),
});

function readField<Name extends FieldName>(values: DraftValues, name: Name, given: unknown): DraftFault[] {
  if (given === null && name !== 'domain') {
    values[name] = null as DraftValues[Name];
    return [];
  }
  const parsed = crawlerFields[name].safeParse(given ?? undefined, { reportInput: true });
  if (parsed.success) {
    values[name] = parsed.data as DraftValues[Name];
    return [];
  }
  return parsed.error.issues.map((issue) => faultAt(name, issue.path, faultOf(issue)));
}

/** Reads every known field of a body on its own: those at fault are left out of the values. */
export function readDraft(raw: Readonly<Record<string, unknown>>): { values: DraftValues; faults: DraftFault[] } {
  const values: DraftValues = {};
  const faults = fieldNames.flatMap((name) => {
    const given = Object.hasOwn(raw, name) ? raw[name] : undefined;
    return given === undefined && name !== 'domain' ? [] : readField(values, name, given);
  });
  return { values, faults };
}
