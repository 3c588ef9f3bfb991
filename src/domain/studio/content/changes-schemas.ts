import { configurationFiles } from '../schema/site-layout.ts';
import type { SiteIndex, TreeDifference } from './site-index.ts';

const contentFile = /\.(?:md|mdx|markdown|mdoc|ya?ml|json|toml)$/i;

/** Files that could found a collection nobody knows yet. */
const mayFound = (path: string) => contentFile.test(path);

/** Whether a tree that differs by this from a site's may have other schemas. */
export function changesSchemas(site: SiteIndex, { added, removed, modified }: TreeDifference): boolean {
  const { dependencies, schemas } = site.discovery;
  const all = [...added, ...removed, ...modified];
  if (configurationFiles(all).length > 0 || all.some((file) => dependencies.includes(file.path))) return true;
  if (added.some((file) => mayFound(file.path) && !schemas.some((schema) => schema.matches(file.path)))) return true;
  // An inferred collection is there because files are.
  return removed.some((file) => {
    const owner = schemas.find((schema) => schema.matches(file.path));
    const left = owner ? (site.collections.get(owner.collection)?.entries.length ?? 0) : 2;
    return owner?.inferred === true && left <= removed.length;
  });
}
