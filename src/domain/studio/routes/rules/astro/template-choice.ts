import type { PageTemplate } from './page-templates.ts';

/** The page that publishes the entries of a collection. */
export interface CollectionRoute {
  template: PageTemplate;
  /** 0.9 when the code says that a parameter is the id, else 0.4. */
  confidence: number;
  /** The id is divided over two parameters: its first segment, and the rest. */
  split: { first: string } | null;
}

const names = ({ segments }: PageTemplate) => segments.flatMap((one) => ('name' in one ? [one] : []));

/** Whether a template publishes entries one by one, and how surely. */
function routeOf(template: PageTemplate): CollectionRoute | null {
  const all = names(template);
  const kinds = all.map(({ name }) => template.parameters.get(name)?.kind);
  if (kinds.includes('id') && kinds.every((kind) => kind === 'id' || kind === 'field'))
    return { template, confidence: 0.9, split: null };
  const [first, second] = all;
  const known = kinds.every((kind) => kind !== undefined);
  if (all.length === 2 && first && second?.rest && known && !first.rest)
    return { template, confidence: 0.4, split: { first: first.name } };
  return all.length === 1 && kinds[0] === 'unclear' ? { template, confidence: 0.4, split: null } : null;
}

/** By collection the page that publishes its entries: the surest, then the one with the fewest parameters. */
export function routesOf(templates: readonly PageTemplate[]): (collection: string) => CollectionRoute | null {
  const routes = templates
    .flatMap((template) => routeOf(template) ?? [])
    .sort((a, b) => b.confidence - a.confidence || names(a.template).length - names(b.template).length);
  const known = new Map<string, CollectionRoute | null>();
  return (collection) => {
    const found = known.get(collection);
    if (found !== undefined) return found;
    const reading = routes.find(({ template }) => template.collections.has(collection));
    const route = reading ?? beside(templates, collection);
    known.set(collection, route);
    return route;
  };
}

/** A guess: the page with one parameter in the directory that is called like the collection, whose code does not say what it reads. */
function beside(templates: readonly PageTemplate[], collection: string): CollectionRoute | null {
  const template = templates.find((one) => {
    const [only, ...more] = names(one);
    const directory = one.segments.at(-2);
    const named = directory !== undefined && 'text' in directory && directory.text === collection;
    return only && more.length === 0 && named && one.collections.size === 0;
  });
  return template ? { template, confidence: 0.4, split: null } : null;
}
