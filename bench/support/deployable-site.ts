import { mkdir, open } from 'node:fs/promises';
import path from 'node:path';
import { type ContentFile, postOf, siteFiles } from './content.ts';
import { type Repository, repositoryOf } from './repositories.ts';

/** The post that an edit changes, and a file that is published for it. */
export const edited = { collection: 'posts', slug: 'post-000000' };

const navigation = Array.from(
  { length: 40 },
  (_, at) => `<li class="entry"><a href="/section-${at}/" rel="section">Section number ${at}</a></li>`,
).join('\n');

/** A page as a generator writes it, about 10 KB: much that is the same on each, and text of its own. */
function pageOf(number: number): Buffer {
  const text = [0, 1, 2].map((part) => `<article><p>${postOf(3 * number + part)}</p></article>`).join('\n');
  return Buffer.from(`<!doctype html>\n<title>Page ${number}</title>\n<ul>\n${navigation}\n</ul>\n${text}\n`);
}

/** Copies the pages and the post, as a generator that takes no time would write them. */
const build = `import { cpSync } from 'node:fs';
cpSync('pages', 'dist', { recursive: true });
cpSync('src/content/posts', 'dist/posts', { recursive: true });
`;

/** The pages of a round: no two rounds share a content. */
export const pagesOf = (round: number, count: number): ContentFile[] =>
  Array.from({ length: count }, (_, at) => ({
    path: `pages/d${at % 20}/page-${at}/index.html`,
    content: pageOf(round * count + at),
  }));

/** A repository with a branch `round-<number>` for each round, whose pages are its own. */
export const roundsRepository = (rounds: number, count: number): Promise<Repository> =>
  repositoryOf(`deployable-${rounds}-${count}`, function* () {
    const base = [...siteFiles({ posts: 1, directories: 0 }), { path: 'build.mjs', content: Buffer.from(build) }];
    yield { branch: 'main', files: base };
    for (let round = 0; round < rounds; round += 1) yield { branch: `round-${round}`, files: pagesOf(round, count) };
  });

/** The least that has to happen: each content is written to a file of its own and synced, a few at the same time. */
export async function writeSynced(
  root: string,
  contents: readonly Uint8Array[],
  { together }: { together: number },
): Promise<void> {
  await mkdir(root, { recursive: true });
  let next = 0;
  const writer = async () => {
    for (let at = next++; at < contents.length; at = next++) {
      const file = await open(path.join(root, String(at)), 'wx', 0o600);
      await file.writeFile(contents[at] ?? new Uint8Array());
      await file.sync().finally(() => file.close());
    }
  };
  await Promise.all(Array.from({ length: together }, writer));
}
