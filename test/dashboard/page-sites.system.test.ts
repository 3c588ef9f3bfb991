/** Entries of real sites edited on their pages, as each framework builds them: by mouse, then by keyboard alone, and each build shows what was saved. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { acme, seed } from '../support/app.ts';
import { builtDashboard } from '../support/build.ts';
import { withDashboard } from '../support/dashboard.ts';
import { workOff } from '../support/deployments.ts';
import { save, saveState, textBox, titleField } from '../support/entry-editor.ts';
import { choose, edit, expectFocus, frameOf, pageReady } from '../support/page-editor.ts';
import { startPreview, type TestPreview } from '../support/preview.ts';
import { filesBelow } from '../support/routes/built-pages.ts';
import { copyFiles, fixtureSites } from '../support/routes/fixture-sites.ts';

const root = path.resolve(import.meta.dirname, '../..');
const builds = mkdtempSync(path.join(tmpdir(), 'portico-page-sites-'));
// Builds may run as another user, who has to reach them.
chmodSync(builds, 0o711);
// Where this machine reaches the registry through a proxy with a certificate of its own, so do builds.
const { NODE_EXTRA_CA_CERTS: roots } = process.env;
const dashboard = withDashboard({
  PORTICO_BUILD_DIR: path.join(builds, 'own'),
  ...(roots && { PORTICO_CA_FILE: roots }),
});

interface Site {
  name: 'demo' | keyof typeof fixtureSites;
  collection: string;
  slug: string;
  /** Frontmatter of the entry, with the field that the page shows. */
  frontmatter: string;
  /** Of the image, as the entry names it. */
  image: string;
  /** Where it lies. */
  imageFile: string;
  /** The dashboard cannot derive where it lies from how it is named. */
  isTriedOut: boolean;
  /** What the fixture's own templates do not show. */
  files: Record<string, string>;
}

const lead = 'A cold night in early May.';
const layout = (title: string, summary: string, content: string) =>
  `<!doctype html>\n<html><head><title>${title}</title></head>\n<body><nav><a href="/">Home</a></nav><main><h1>${title}</h1><p class="lead">${summary}</p>${content}</main></body></html>\n`;
const sites: Site[] = [
  {
    name: 'hugo',
    collection: 'posts',
    slug: 'late-frost',
    frontmatter: `title: Late frost\nsummary: ${lead}`,
    image: '/base/pear.svg',
    imageFile: 'static/pear.svg',
    isTriedOut: true,
    files: { 'layouts/_default/single.html': layout('{{ .Title }}', '{{ .Params.summary }}', '{{ .Content }}') },
  },
  {
    name: 'jekyll',
    collection: 'posts',
    slug: '_posts/2020-03-04-late-frost',
    frontmatter: `title: Late frost\nsummary: ${lead}`,
    image: '/base/assets/pear.svg',
    imageFile: 'assets/pear.svg',
    isTriedOut: true,
    files: { '_layouts/plain.html': layout('{{ page.title }}', '{{ page.summary }}', '{{ content }}') },
  },
  {
    name: 'mkdocs',
    collection: 'text',
    slug: 'guide/late-frost',
    frontmatter: `title: Late frost\nsummary: ${lead}`,
    image: '../pear.svg',
    imageFile: 'text/pear.svg',
    isTriedOut: false,
    files: {
      'mkdocs.yml':
        'INHERIT: base.yml\nsite_name: Sample\ntheme:\n  name: mkdocs\n  custom_dir: theme\n  highlightjs: false\n',
      'theme/main.html':
        '{% extends "base.html" %}\n{% block content %}<p>{{ page.meta.summary }}</p>{{ super() }}{% endblock %}\n',
    },
  },
  {
    name: 'demo',
    collection: 'posts',
    slug: 'en/late-frost',
    frontmatter: `title: Late frost\ndescription: ${lead}\ndate: 2026-05-09\nauthor: hazel-quillfeather\ntags: [frost]\nseason: spring`,
    image: '/pear.svg',
    imageFile: 'public/pear.svg',
    isTriedOut: false,
    files: {},
  },
];

const textOf = ({ frontmatter, image }: Site) => `---
${frontmatter}
---

The frost came in the night and took the [pear](https://portico.example/pear) blossom.

## What to do

* Every evening, *cover* the trees
* Every morning, uncover them

| Tree | Loss |
|:-----|-----:|
| Pear | all  |
| Plum | none |

![A pear](${image})

Last words of the post.
`;

/** The files of a site's repository. */
async function filesOf({ name, files, imageFile }: Site): Promise<Record<string, string | Buffer>> {
  const directory = await mkdtemp(path.join(builds, `${name}-`));
  const from = name === 'demo' ? path.join(root, 'demo') : directory;
  if (name !== 'demo') await copyFiles(fixtureSites[name], root, directory);
  const found: Record<string, string | Buffer> = {};
  for (const file of await filesBelow(from))
    if (!/(?:^|\/)(?:node_modules|dist|\.astro)\//.test(file)) found[file] = await readFile(path.join(from, file));
  await rm(directory, { recursive: true });
  const picture =
    '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><rect width="40" height="40"/></svg>\n';
  return { ...found, ...files, [imageFile]: picture };
}

let preview: TestPreview;
beforeAll(async () => {
  const { app } = dashboard;
  app.services.settings.public_url = app.url;
  preview = await startPreview(app, 'http://*.localhost', await builtDashboard());
});
afterAll(async () => {
  await preview?.stop();
  rmSync(builds, { recursive: true, force: true });
});

const ask = async (method: string, at: string, body?: object) => {
  const answer = await dashboard.app.ask(method, at, body && { body });
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
};

/** A site with its entry, imported and deployed, whose entry is open on its page. */
class Visited {
  readonly site: Site;
  readonly studio: string;
  readonly text: string;

  constructor(site: Site) {
    this.site = site;
    this.studio = `${acme}/projects/${site.name}/studio`;
    this.text = textOf(site);
  }

  #entry = () => `${this.studio}/collections/${this.site.collection}/${this.site.slug}?raw=true`;
  stored = async (): Promise<string> => (await ask('GET', this.#entry())).raw;

  /** Builds what the last commit has queued. @returns the latest deployment */
  async work(): Promise<number> {
    const { app } = dashboard;
    await app.services.studio.moves.settled();
    await workOff(app);
    const [latest] = await ask('GET', `${this.studio}/deployments?per_page=1`);
    expect(latest.conclusion, JSON.stringify(latest)).toBe('success');
    return latest.id;
  }

  async open(): Promise<Page> {
    const { name, collection, slug } = this.site;
    await ask('POST', `${acme}/projects`, { name, machine_name: name });
    await seed(dashboard.app, await filesOf(this.site), name);
    await ask('POST', `${this.studio}/route-patterns/detect`, { save: true });
    await ask('POST', `${this.studio}/collections/${collection}`, { slug, raw: this.text });
    await ask('POST', `${this.studio}/environments`, { name: 'Live', branch: 'main', auto_deploy: true });
    await this.work();
    const page = await dashboard.open(`/p/acme/${name}/content/${collection}/${slug}`);
    await titleField(page).waitFor();
    await page.getByText('Page', { exact: true }).click();
    await pageReady(page);
    return page;
  }

  /** Waits until the frame shows the page of a deployment. */
  async shows(page: Page, deployment: number): Promise<void> {
    const host = () => frameOf(page).locator('html').evaluate('location.hostname');
    await expect.poll(host).toMatch(new RegExp(`^d--${deployment}\\.`));
    await pageReady(page);
  }
}

async function typeAtEnd(page: Page, text: string): Promise<void> {
  await page.keyboard.press('Control+End');
  await page.keyboard.type(text);
}

describe.each(sites)('a page of $name', (site) => {
  const visited = new Visited(site);
  let page: Page;

  test('is edited by mouse, by mouse and keys, and by keys alone', async () => {
    page = await visited.open();
    const frame = frameOf(page);
    await edit(page, 'The frost came');
    await typeAtEnd(page, ' Now.');
    await frame.getByText('blossom. Now.').waitFor();
    await edit(page, frame.getByRole('heading', { name: 'What to do' }));
    await typeAtEnd(page, ' then');
    await edit(page, 'Every morning');
    await typeAtEnd(page, ' again');
    await frame.getByRole('cell', { name: 'Plum' }).click();
    await expectFocus(page, 'Row 3, column 1');
    await page.keyboard.press('End');
    await page.keyboard.type(' tree');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await textBox(page).waitFor({ state: 'hidden' });
    await frame.getByRole('img', { name: 'A pear' }).click();
    await page.getByRole('img', { name: 'A pear' }).click();
    await page.getByRole('textbox', { name: 'Alternative text' }).fill('Two pears');
    await page.getByRole('textbox', { name: 'Alternative text' }).press('Enter');
    await frame.getByText(lead).first().click();
    await page.getByRole('textbox', { name: 'Field', exact: true }).fill('A cold night in late May.');
    await page.keyboard.press('Enter');
    await save(page);
    const once = visited.text
      .replace('early May', 'late May')
      .replace('blossom.', 'blossom. Now.')
      .replace('What to do', 'What to do then')
      .replace('uncover them', 'uncover them again')
      .replace('| Plum |', '| Plum tree |')
      .replace('A pear', 'Two pears');
    expect(await visited.stored()).toBe(once);
    await visited.shows(page, await visited.work());
    for (const text of [
      'blossom. Now.',
      'What to do then',
      'uncover them again',
      'Plum tree',
      'A cold night in late May.',
    ])
      await frame.getByText(text).filter({ visible: true }).first().waitFor();
    await frame.getByRole('img', { name: 'Two pears' }).waitFor();

    await choose(page, 'The frost came');
    await typeAtEnd(page, ' Twice.');
    await page.keyboard.press('Escape');
    await choose(page, 'What to do');
    await typeAtEnd(page, ' first');
    await page.keyboard.press('Escape');
    await choose(page, 'Every morning');
    await typeAtEnd(page, ' all');
    await page.keyboard.press('Escape');
    await choose(page, 'Last words');
    await typeAtEnd(page, ' More.');
    await page.keyboard.press('Escape');
    await choose(page, 'Plum tree', 'Row 3, column 1');
    await page.keyboard.press('End');
    await page.keyboard.type('s');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await choose(page, 'Picture');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.type('Three pears');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    await choose(page, 'A cold night', 'Field');
    await page.keyboard.press('End');
    await page.keyboard.type(' Brr.');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Control+s');
    await saveState(page, 'Nothing to save');
    expect(await visited.stored()).toBe(
      once
        .replace('late May.', 'late May. Brr.')
        .replace('blossom. Now.', 'blossom. Now. Twice.')
        .replace('What to do then', 'What to do then first')
        .replace('uncover them again', 'uncover them again all')
        .replace('| Plum tree |', '| Plum trees |')
        .replace('Two pears', 'Three pears')
        .replace('of the post.', 'of the post. More.'),
    );
    await visited.shows(page, await visited.work());
    await frame.getByRole('img', { name: 'Three pears' }).waitFor();
    for (const text of ['Now. Twice.', 'then first', 'again all', 'Plum trees', 'late May. Brr.', 'of the post. More.'])
      await frame.getByText(text).filter({ visible: true }).first().waitFor();
    await expectFocus(page, 'Pieces of this page');
    // Where the picture lies in the repository is tried out.
    if (site.isTriedOut) dashboard.forgive(/404/);
  });
});

interface Template {
  name: string;
  /** Path of the entry, and its name in the dashboard. */
  file: string;
  entry: string;
  body: string;
  /** What the entry's page is built by, and from. */
  command: string;
  files: Record<string, string>;
  /** Each text on the page that is clicked, and the source after which is then typed; null: nothing is opened. */
  clicked: [text: string, source: string | null][];
}

const page = (content: string) =>
  `<!doctype html>\n<html><head><title>Odd</title></head><body><main><h1>Odd</h1>${content}</main></body></html>\n`;
const liquid = `The frost came in the night.

{% include box.html %}

The price is {{ page.price }} in all.

{% if page.price %}
Words between tags.
{% endif %}

* An item with {{ page.price }} in it
* An item without

Last words of the post.
`;
const clickedLiquid: Template['clicked'] = [
  ['The frost came', 'in the night.'],
  ['Words of the box', null],
  ['The price is', '{{ page.price }} in all.'],
  ['Words between tags', '{% endif %}'],
  ['An item with 7', 'in it'],
  ['An item without', 'An item without'],
  ['Last words', 'of the post.'],
];
const shownLiquid =
  '<p>The frost came in the night.</p><aside>Words of the box.</aside><p>The price is 7 in all.</p><p>Words between tags.</p><ul><li>An item with 7 in it</li><li>An item without</li></ul><p>Last words of the post.</p>';

const templates: Template[] = [
  {
    name: 'liquid',
    file: '_posts/2020-03-04-odd.md',
    entry: 'posts/2020-03-04-odd',
    body: liquid,
    command: 'jekyll build --quiet --destination www',
    files: {
      '_config.yml': 'title: Sample\n',
      '_layouts/plain.html': page('{{ content }}'),
      '_includes/box.html': '<aside>Words of the box.</aside>\n',
    },
    clicked: clickedLiquid,
  },
  {
    name: 'nunjucks',
    file: 'posts/odd.md',
    entry: 'posts/odd',
    body: liquid.replace('box.html', '"box.html"'),
    command: 'cp -r built www',
    files: {
      'eleventy.config.js': "export default () => ({ markdownTemplateEngine: 'njk', dir: { output: 'www' } });\n",
      'built/posts/odd/index.html': page(shownLiquid),
    },
    clicked: clickedLiquid,
  },
  {
    name: 'mdx',
    file: 'docs/odd.mdx',
    entry: 'docs/odd',
    body: `import Chart from './chart';

The frost came in the night.

<Chart year={2018} />

The price is {props.price} in all.

<Note kind="tip">

Words inside of a component.

</Note>

An item has a <Badge level={1}>new</Badge> badge.

Last words of the post.
`,
    command: 'cp -r built www',
    files: {
      'docusaurus.config.js': "export default { title: 'Sample', url: 'https://portico.example', baseUrl: '/' };\n",
      'built/docs/odd/index.html': page(
        '<p>The frost came in the night.</p><figure>Words of the chart.</figure><p>The price is 7 in all.</p><aside><p>Words inside of a component.</p></aside><p>An item has a <b>new</b> badge.</p><p>Last words of the post.</p>',
      ),
    },
    clicked: [
      ['The frost came', 'in the night.'],
      ['Words of the chart', null],
      ['The price is', '{props.price} in all.'],
      ['Words inside', 'of a component.'],
      ['An item has', '</Badge> badge.'],
      ['Last words', 'of the post.'],
    ],
  },
];

test.each(templates)('what templates put into a page is not edited there: $name', async (template) => {
  const { name, file, entry, command, files, clicked } = template;
  const { app } = dashboard;
  const studio = `${acme}/projects/${name}/studio`;
  let text = `---\nlayout: plain\ntitle: Odd\nprice: 7\n---\n\n${template.body}`;
  await ask('POST', `${acme}/projects`, { name, machine_name: name });
  await seed(app, { ...files, [file]: text }, name);
  await ask('POST', `${studio}/route-patterns/detect`, { save: true });
  const built = { provider: 'build', build_command: command, output_directory: 'www' };
  await ask('POST', `${studio}/environments`, { name: 'Live', branch: 'main', auto_deploy: true, ...built });
  await app.services.studio.moves.settled();
  await workOff(app);
  const view = await dashboard.open(`/p/acme/${name}/content/${entry}`);
  await titleField(view).waitFor();
  await view.getByText('Page', { exact: true }).click();
  await pageReady(view);
  for (const [shown, source] of clicked) {
    // Not on what a template has put in its midst.
    await frameOf(view)
      .getByText(shown)
      .click({ position: { x: 5, y: 5 } });
    await expectFocus(view, source === null ? 'Pieces of this page' : 'Text');
    expect(await textBox(view).isVisible()).toBe(source !== null);
    if (source === null) continue;
    await typeAtEnd(view, ' More');
    await view.keyboard.press('Escape');
    await textBox(view).waitFor({ state: 'hidden' });
    const end = text.indexOf(source) + source.length;
    text = `${text.slice(0, end)} More${text.slice(end)}`;
  }
  await save(view);
  expect((await ask('GET', `${studio}/collections/${entry}?raw=true`)).raw).toBe(text);
});
