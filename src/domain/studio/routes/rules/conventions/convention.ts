import { codeExtensions, findConfig, readCodeConfig } from '../../../schema/config/config-file.ts';
import { lessUnknown, type RouteReading, type RouteRule } from '../rule.ts';
import { Settings } from '../settings.ts';

/** The settings of the first configuration there is of these names. */
export async function codeSettings(reading: RouteReading, names: readonly string[]): Promise<Settings> {
  const path = findConfig(reading, names, codeExtensions);
  const read = path === undefined ? null : await readCodeConfig(path, reading);
  return new Settings(read?.value, path ?? reading.layout.root, reading);
}

/** A rule by convention: at most 0.7 sure, whatever the configuration says. */
export const byConvention = (
  settings: Settings,
  base: string,
  urlOf: RouteRule['urlOf'],
  confidence: (path: string) => number = () => 0.7,
): RouteRule => ({
  base,
  urlOf,
  evidenceOf: (path) => ({
    confidence: lessUnknown(confidence(path), settings.unknown),
    source: { path: settings.path },
  }),
});
