import { seed, studio, type TestApp } from './app.ts';

/** A post whose keys stand line by line, so that git's own merge takes neighbours for a conflict. */
export const post = (fields: Record<string, unknown>, body = 'First line.\n\nMiddle.\n\nLast line.\n') =>
  `---\n${Object.entries(fields)
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
    .join('')}---\n\n${body}`;

export const postPath = (slug: string) => `content/posts/${slug}.md`;

/** Posts `a` to `d`, a page and a file that is no content, on `main`. */
export async function seedPosts(app: TestApp, project = 'site'): Promise<string> {
  const fields = (title: string) => ({ title, description: 'Text', draft: false, tags: ['one'] });
  return seed(
    app,
    {
      ...Object.fromEntries(['a', 'b', 'c', 'd'].map((slug) => [postPath(slug), post(fields(slug.toUpperCase()))])),
      'content/pages/about.md': post({ title: 'About' }),
      'src/site.css': 'a {}\n',
    },
    project,
  );
}

/** Writes files (null deletes) to a branch as one commit, behind the operations' back. */
export async function commitTo(
  app: TestApp,
  branch: string,
  files: Record<string, string | Buffer | null>,
  project = 'site',
): Promise<string> {
  const git = await app.repository(project);
  const changes = Object.entries(files).map(([path, content]) => ({
    path,
    content: content === null ? null : Buffer.from(content as string),
  }));
  const author = { name: 'Seed', email: 'seed@portico.test' };
  const { commit } = await git.write({
    branch,
    author,
    plan: async () => ({ changes, message: 'Change', result: null }),
  });
  return commit?.sha ?? '';
}

export async function makeBranch(app: TestApp, name: string, from?: string): Promise<void> {
  const { status } = await app.ask('POST', `${studio}/branches`, { body: { name, ...(from && { from }) } });
  if (status !== 201) throw new Error(`branch ${name}: ${status}`);
}
