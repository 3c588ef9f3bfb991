import { readDataConfig } from '../../../schema/config/config-file.ts';
import { joinPath } from '../../../schema/site-layout.ts';
import { at, entriesOf, isFalse, isTrue, textAt, textsOf } from '../../../schema/static/read-value.ts';
import type { RouteReading } from '../rule.ts';
import type { Instance } from './instances.ts';

/** A version of the docs: where its files lie, and its part of the address. */
export interface Version {
  /** `current`, or the version's name. */
  name: string;
  /** From the repository's root. */
  directory: string;
  route: string;
}

/** The versions of an instance of the docs: the current ones are `next` as soon as there is a released one, and the last has no part of its own. */
export async function versionsOf(instance: Instance, reading: RouteReading): Promise<Version[]> {
  const { root } = reading.layout;
  const prefix = instance.id === 'default' ? '' : `${instance.id}_`;
  const path = joinPath(root, `${prefix}versions.json`);
  const disabled = isTrue(at(instance.options, 'disableVersioning')) || !reading.present.has(path);
  const released = disabled ? [] : textsOf((await readDataConfig(path, reading)) ?? undefined);
  const includesCurrent = !isFalse(at(instance.options, 'includeCurrentVersion') ?? { kind: 'scalar', value: true });
  const only = textsOf(at(instance.options, 'onlyIncludeVersions'));
  const last = textAt(instance.options, 'lastVersion') ?? released[0] ?? 'current';
  const settings = new Map(entriesOf(at(instance.options, 'versions')));
  const names = [...(includesCurrent ? ['current'] : []), ...released];
  return names
    .filter((name) => only.length === 0 || only.includes(name))
    .map((name) => {
      const own = textAt(settings.get(name), 'path');
      const route = own ?? (name === last ? '' : name === 'current' ? 'next' : name);
      const released = joinPath(root, `${prefix}versioned_docs`, `version-${name}`);
      return { name, directory: name === 'current' ? joinPath(root, instance.path) : released, route };
    });
}
