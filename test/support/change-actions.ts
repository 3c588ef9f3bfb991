import { type Answer, studio, type TestApp } from './app.ts';
import { makeBranch } from './conflict-site.ts';

export const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

/** An action that makes a post of the site of `siteFiles`. */
export const post = (slug: string, frontmatter: object = {}) => ({
  op: 'create',
  collection: 'posts',
  slug,
  frontmatter: { title: 'T', author: 'ada', ...frontmatter },
  body: 'Text\n',
});

/** An action on a post that is there. */
export const of = (op: string, slug: string, more: object = {}) => ({ op, collection: 'posts', slug, ...more });

let next = 0;
/** A branch of its own for each test, so that none sees what another did. */
export async function ownBranch(app: TestApp): Promise<string> {
  const name = `own-${next++}`;
  await makeBranch(app, name);
  return name;
}

/** An entry of a branch, with its raw text. */
export const entryOn = (app: TestApp, branch: string, slug: string): Promise<Answer> =>
  app.ask('GET', `${studio}/collections/posts/${slug}?branch=${branch}&raw=true`);

export async function countCommits(app: TestApp, branch: string): Promise<number> {
  const { headers } = await app.ask('GET', `${studio}/commits?branch=${branch}&per_page=1`);
  return Number(headers.get('x-total-count'));
}
