import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acme, seed, startTestApp, type TestApp } from '../support/app.ts';

let app: TestApp;
const studio = `${acme}/projects/site/studio`;
const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const page = (body: string) => `---\ntitle: Page\n---\n${body}\n`;

beforeAll(async () => {
  app = await startTestApp();
  await seed(app, {
    '_config.yml': 'baseurl: /a base\n',
    '_posts/2020-01-02-whole.md': page('![](/a%20base/assets/whole.png)'),
    '_posts/2020-01-03-rooted.md': page("![]({{ '/assets/rooted.png' | relative_url }})"),
    '_posts/2020-01-04-other.md': page('![](/other/assets/elsewhere.png)'),
    'assets/whole.png': pixel,
    'assets/rooted.png': pixel,
    'assets/elsewhere.png': pixel,
  });
  await app.ask('POST', `${studio}/route-patterns/detect`, { body: { save: true } });
});
afterAll(() => app?.stop());

describe('a file of a site that lies below a path', () => {
  it.each([
    ['whole.png', 'with that path', 'in_use'],
    ['rooted.png', 'without it', 'in_use'],
    ['elsewhere.png', 'below another path', undefined],
  ])('%s, which an entry names %s, is deleted with code %s', async (name, _how, code) => {
    expect((await app.ask('DELETE', `${studio}/media/assets/${name}`)).body.code).toBe(code);
  });

  it('is among the files that its entry shows', async () => {
    const { body } = await app.ask('POST', '/graphql', {
      body: {
        query: `{ project(organization: "acme", project: "site") { studio { entry(collection: "posts", slug: "2020-01-02-whole") { media { path } } } } }`,
      },
    });
    expect(body.data.project.studio.entry.media).toEqual([{ path: 'assets/whole.png' }]);
  });
});
