import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { type Config, setting, settingNames } from './config-settings.ts';
import { faultOf } from './domain/parse.ts';
import { originProblem, previewUrlOf } from './domain/studio/previews/preview-origin.ts';

export { type Config, settingNames };

const secretNames: readonly string[] = ['PORTICO_METRICS_TOKEN', 'DATABASE_URL'];

/** Faults of the environment, one line each. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** Edit distance (Levenshtein), to name what a misspelt setting may have meant. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, left] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, right] of [...b].entries()) {
      next.push(Math.min((row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1, (row[j] ?? 0) + (left === right ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

function readFiles(environment: NodeJS.ProcessEnv, faults: string[]): Record<string, string> {
  const values: Record<string, string> = {};
  for (const name of settingNames) {
    const file = environment[`${name}_FILE`];
    if (environment[name]) values[name] = environment[name];
    if (!file) continue;
    try {
      values[name] = readFileSync(file, 'utf8').trim();
    } catch (error) {
      faults.push(`${name}_FILE: ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})`);
    }
  }
  return values;
}

/** Whether a directory is at the path, or one could be made there: false when it, or something on the way to it, is a file. */
function canBeDirectory(place: string): boolean {
  try {
    return statSync(place).isDirectory();
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOTDIR';
  }
}

/** The form of the preview origin's addresses when its listener has a port. */
export const previewUrlFor = (config: Config, port = config.PORTICO_PREVIEW_PORT): string =>
  config.PORTICO_PREVIEW_URL ?? previewUrlOf(config.PORTICO_PREVIEW_HOST, port);

function previewFaults(config: Config): string[] {
  const problem = originProblem(config.PORTICO_PUBLIC_URL ?? 'http://localhost', previewUrlFor(config));
  const name = config.PORTICO_PREVIEW_URL === undefined ? 'PORTICO_PREVIEW_HOST' : 'PORTICO_PREVIEW_URL';
  return problem === null ? [] : [`${name}: ${problem}`];
}

/**
 * Reads the settings from an environment; `<NAME>_FILE` reads a value from a file, an empty value counts as absent.
 * @returns the settings and a warning for each unknown `PORTICO_*` name.
 * @throws ConfigError with one line per fault.
 */
export function readConfig(environment: NodeJS.ProcessEnv): { config: Config; warnings: string[] } {
  const faults: string[] = [];
  const parsed = setting.safeParse(readFiles(environment, faults), { reportInput: true });
  // A list with several wrong items is one fault of one setting.
  const wrong = (parsed.error?.issues ?? []).map((issue) => `${String(issue.path[0])}: ${faultOf(issue)}`);
  faults.push(...new Set(wrong));
  const dataDir = parsed.data && path.resolve(parsed.data.PORTICO_DATA_DIR);
  if (dataDir !== undefined && !canBeDirectory(dataDir)) faults.push(`PORTICO_DATA_DIR: ${dataDir} is not a directory`);
  if (parsed.success) faults.push(...previewFaults(parsed.data));
  if (!parsed.success || faults.length > 0) throw new ConfigError(faults.join('\n'));
  const known = new Set(settingNames.flatMap((name) => [name as string, `${name}_FILE`]));
  const warnings = Object.keys(environment)
    .filter((name) => name.startsWith('PORTICO_') && !known.has(name))
    .map((name) => {
      const nearest = settingNames.toSorted((a, b) => distance(name, a) - distance(name, b))[0];
      return `${name} is not a setting; did you mean ${nearest}?`;
    });
  if (parsed.data.PORTICO_METRICS_PORT !== undefined && parsed.data.PORTICO_METRICS_TOKEN === undefined)
    warnings.push(
      'PORTICO_METRICS_PORT is set without PORTICO_METRICS_TOKEN: every request for /metrics is answered 404',
    );
  return { config: { ...parsed.data, PORTICO_DATA_DIR: path.resolve(parsed.data.PORTICO_DATA_DIR) }, warnings };
}

/** The effective settings for people, secrets masked. */
export function describeConfig(config: Config): Record<string, unknown> {
  return Object.fromEntries(
    settingNames.map((name) => [
      name,
      config[name] !== undefined && secretNames.includes(name) ? '********' : (config[name] ?? null),
    ]),
  );
}
