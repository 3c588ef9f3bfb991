import { readFile } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import path from 'node:path';

/** Files the pages load, by name, with their types. Nothing else is read, whatever the URL. */
const types: Record<string, string> = {
  'site.css': 'text/css; charset=utf-8',
  'reference.css': 'text/css; charset=utf-8',
  'explorer.css': 'text/css; charset=utf-8',
  'copy.js': 'text/javascript; charset=utf-8',
  'reference.js': 'text/javascript; charset=utf-8',
  'explorer.js': 'text/javascript; charset=utf-8',
  'explorer-draft.js': 'text/javascript; charset=utf-8',
  'explorer-schema.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
};

export const assetNames = Object.keys(types);

/** The compiler copies no assets, so they are read from the sources, from `dist` as well. */
export const packageRoot = path.dirname(findPackageJSON(import.meta.url) ?? '');

/** An asset as it is served. */
export interface Asset {
  type: string;
  content: Buffer;
}

const read = new Map<string, Promise<Asset>>();

/** Reads an asset once per process; null for an unknown name. */
export function assetNamed(name: string): Promise<Asset> | null {
  const type = Object.hasOwn(types, name) ? types[name] : undefined;
  if (type === undefined) return null;
  const asset =
    read.get(name) ??
    readFile(path.join(packageRoot, 'src/rest/site/assets', name)).then((content) => ({ type, content }));
  read.set(name, asset);
  return asset;
}
