import type { SiteReading } from '../reader.ts';
import type { Warning } from '../schema.schema.ts';
import type { Place } from '../static/values.ts';
import type { Warn } from './field-tools.ts';

const MAX_WARNINGS = 100;

/** Collects a collection's warnings; a place without a path is one in the configuration itself. */
export function noteTo(warnings: Warning[], path: string, collection: string): Warn {
  return (code, message, place) => {
    const line = place && place.path !== '' ? { line: place.line } : {};
    if (warnings.length < MAX_WARNINGS) {
      warnings.push({ code, message, path: place?.path || path, ...line, collection });
    }
  };
}

/** Says that a collection is left out; the files it may have are for whoever claims them next. */
export function skipped(name: string, reason: string, place: Place, { warnings }: SiteReading): [] {
  const message = `The collection is left out: ${reason}`;
  warnings.push({ code: 'schema_unknown', message, path: place.path, line: place.line, collection: name });
  return [];
}
