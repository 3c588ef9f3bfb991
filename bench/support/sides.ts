import { type ContentFile, pathOf, postOf, type Site, siteFiles } from './content.ts';
import { type GeneratedCommit, type Repository, repositoryOf } from './repositories.ts';

/** Two branches to be merged, `<name>-ours` and `<name>-theirs`: which posts they change. */
export interface Sides {
  name: string;
  /** Titles are changed from post `from` on, `count` of them. */
  ours: { from: number; count: number };
  /** Dates are changed. */
  theirs: { from: number; count: number };
}

const withTitle = (post: string, name: string) => post.replace(/^title: .*$/m, `title: "Title by ${name}"`);
const withDate = (post: string, day: number) => post.replace(/^date: .*$/m, `date: 2031-01-${10 + (day % 18)}`);

/** The first line of the block is changed by one side, the second by the other: lines git cannot merge, fields that can be. */
export function mergedPost(number: number, { name, ours, theirs }: Sides): string {
  const isIn = ({ from, count }: Sides['ours']) => number >= from && number < from + count;
  const titled = isIn(ours) ? withTitle(postOf(number), name) : postOf(number);
  return isIn(theirs) ? withDate(titled, name.length + number) : titled;
}

/** Files that are as both sides want them. */
export function mergedFiles(site: Site, sides: Sides): ContentFile[] {
  const { ours, theirs } = sides;
  const numbers = [ours, theirs].flatMap(({ from, count }) => Array.from({ length: count }, (_, at) => from + at));
  return [...new Set(numbers)].map((number) => ({
    path: pathOf(number, site),
    content: Buffer.from(mergedPost(number, sides)),
  }));
}

const none = { from: 0, count: 0 };

function* commitsOf(site: Site, all: readonly Sides[]): Generator<GeneratedCommit> {
  yield { branch: 'main', files: siteFiles(site) };
  for (const sides of all) {
    yield { branch: `${sides.name}-ours`, files: mergedFiles(site, { ...sides, theirs: none }) };
    yield { branch: `${sides.name}-theirs`, files: mergedFiles(site, { ...sides, ours: none }) };
  }
}

/** A site with branches to be merged. */
export const sidesRepository = (site: Site, all: readonly Sides[]): Promise<Repository> => {
  const changed = all.reduce((sum, { ours }) => sum + ours.count, 0);
  return repositoryOf(`sides-${site.posts}-${all.length}-${changed}`, () => commitsOf(site, all));
};
