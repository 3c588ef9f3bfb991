import { beforeAll, describe, expect, it } from 'vitest';
import { acme, seed, shared, startTestApp } from '../support/app.ts';

const app = shared(startTestApp);
const studio = `${acme}/projects/site/studio`;
const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const page = (body: string) => `---\ntitle: Page\n---\n${body}\n`;

beforeAll(async () => {
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

  it('is found among 10,000 names of up to 4,096 characters', async () => {
    const names = (count: number) => '/none.png '.repeat(count);
    const rooted = (length: number) => {
      const ends = `../${length % 2 === 0 ? './' : './/'}assets/rooted.png`;
      return ends.replace('../', `../${'./'.repeat((length - ends.length) / 2)}`);
    };
    expect([rooted(4_096).length, rooted(4_097).length]).toEqual([4_096, 4_097]);
    await seed(app, {
      '_posts/2020-02-01-first.md': page(`${names(9_999)} /assets/whole.png`),
      '_posts/2020-02-02-late.md': page(`${names(10_000)} /assets/whole.png`),
      '_posts/2020-02-03-long.md': page(rooted(4_096)),
      '_posts/2020-02-04-longer.md': page(rooted(4_097)),
    });
    const entries = ['first', 'late', 'long', 'longer'].map(
      (slug, at) => `${slug}: entry(collection: "posts", slug: "2020-02-0${at + 1}-${slug}") { media { path } }`,
    );
    const query = `{ project(organization: "acme", project: "site") { studio { ${entries.join(' ')} } } }`;
    const { body } = await app.ask('POST', '/graphql', { body: { query } });
    expect(body).toEqual({
      data: {
        project: {
          studio: {
            first: { media: [{ path: 'assets/whole.png' }] },
            late: { media: [] },
            long: { media: [{ path: 'assets/rooted.png' }] },
            longer: { media: [] },
          },
        },
      },
    });
  });
});
