import { studio, type TestApp } from './app.ts';

export const posts = `${studio}/collections/posts`;
/** Frontmatter that the schema of posts accepts. */
export const valid = { title: 'T', author: 'ada' };

let next = 0;

/** The requests that tests of writing entries make, of an application with the files of `siteFiles`. */
export function entryWrites(app: () => TestApp) {
  const create = (body: object) => app().ask('POST', posts, { body });
  return {
    create,
    put: (slug: string, body: object, headers = {}) => app().ask('PUT', `${posts}/${slug}`, { body, headers }),
    raw: async (slug: string) => (await app().ask('GET', `${posts}/${slug}?raw=true`)).body.raw as string,
    head: async () => (await app().ask('GET', `${studio}/commits?per_page=1`)).body[0],
    /** A new entry, and the names of its version. */
    async fresh(frontmatter: object = valid, body = 'Text\n') {
      const slug = `en/fresh-${next++}`;
      const made = await create({ slug, frontmatter, body });
      return { slug, etag: made.headers.get('etag') ?? '', sha: made.body.sha as string };
    },
  };
}
