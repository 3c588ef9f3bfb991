import type { SiteFiles } from '../../schema/collection-schema.ts';
import { readCodeConfig, readDataConfig } from '../../schema/config/config-file.ts';
import { at, entriesOf } from '../../schema/static/read-value.ts';
import { textOf, type Value } from '../../schema/static/values.ts';
import type { DetectedSite } from './detect-framework.ts';
import { frameworkOf } from './frameworks.ts';

/** Where the configuration says a build goes, relative to the site; undefined when it says nothing that can be read, or leaves the site. */
export async function configuredOutput(site: SiteFiles, { framework, config }: DetectedSite) {
  if (framework === null || config === null) return undefined;
  const { output } = frameworkOf(framework.id);
  if (output.key.length === 0) return undefined;
  const reading = { site, warnings: [], dependencies: new Set<string>() };
  const data = /\.(toml|ya?ml|json)$/.test(config);
  const value = data ? await readDataConfig(config, reading) : (await readCodeConfig(config, reading)).value;
  const text = textOf(output.key.reduce<Value | undefined>(member, value ?? undefined));
  const clean = text?.replace(/^(\.?\/)+|\/+$/g, '');
  return clean === undefined || clean === '' || /(^|\/)\.\.(\/|$)|^[A-Za-z]:/.test(clean) ? undefined : clean;
}

/** Keys of data are written in any case by some. */
const member = (value: Value | undefined, key: string): Value | undefined =>
  at(value, key) ?? entriesOf(value).find(([name]) => name.toLowerCase() === key.toLowerCase())?.[1];
