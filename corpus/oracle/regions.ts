import type { Path } from '../checks/change.ts';
import type { Block } from './block.ts';
import type { Regions } from './region.ts';
import { tomlRegions } from './toml-regions.ts';
import { yamlRegions } from './yaml-regions.ts';

/** Where the key that holds a path lies; null when the libraries do not tell. */
export function regionsOf(source: string, format: Block['format'], path: Path): Regions | null {
  return format === 'toml' ? tomlRegions(source, path) : yamlRegions(source, path);
}
