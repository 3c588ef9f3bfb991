/** A small site that Hugo builds, with entries that tests edit on their pages. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { seed, studio } from './app.ts';
import { builtDashboard } from './build.ts';
import { type Dashboard, type Visitor, withDashboard } from './dashboard.ts';
import { workOff } from './deployments.ts';
import { titleField } from './entry-editor.ts';
import { pageReady } from './page-editor.ts';
import { startPreview, type TestPreview } from './preview.ts';

/** An entry with each kind of block. */
export const raw = `---
title: Late frost
summary: A cold night in May.
---

The frost came in the night and took the [pear](https://portico.example/pear) blossom.

## What to do

* Every evening, *cover* the trees
* Every morning, uncover them

| Tree | Loss |
|:-----|-----:|
| Pear | all  |
| Plum | none |

![A pear](/pear.svg)

Last words of the post.
`;

/** The template of all pages. */
export const layout = `<!doctype html>
<html><head><title>{{ .Title }}</title><style>p { font: 18px/28px serif; color: rgb(10, 60, 20) }</style></head>
<body><nav><a href="/posts/bees/">Bees</a> <a href="/">Home</a></nav>
<main><h1>{{ .Title }}</h1><p class="lead">{{ .Params.summary }}</p>{{ .Content }}</main></body></html>
`;

const files: Record<string, string> = {
  'hugo.toml': "baseURL = 'https://portico.example/'\ndisableKinds = ['taxonomy', 'term', 'RSS', 'sitemap']\n",
  'layouts/_default/single.html': layout,
  'layouts/_default/list.html': '<!doctype html><title>List</title><h1>List</h1>',
  'static/pear.svg':
    '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><rect width="40" height="40"/></svg>\n',
  'static/apple.svg':
    '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="60"><circle cx="30" cy="30" r="30"/></svg>\n',
  'content/posts/bees.md': '---\ntitle: Bees\n---\n\nThe bees have swarmed on the first warm day.\n',
  'content/posts/frost.md': raw,
};

export interface HugoPages {
  dashboard: Dashboard;
  /** Builds what the last commit has queued. */
  work(): Promise<void>;
  /** An entry of its own for a test, built. @returns its address in the dashboard */
  freshPage(slug: string, text?: string): Promise<string>;
  /** The same, open on its page. */
  openOnPage(slug: string, text?: string, visitor?: Visitor): Promise<Page>;
}

/** Starts the dashboard with that site deployed, for the tests of a file. @param more files beside its own @param command builds it */
export function withHugoPages(more: Record<string, string> = {}, command = 'hugo'): HugoPages {
  const builds = mkdtempSync(path.join(tmpdir(), 'portico-page-'));
  // Builds may run as another user, who has to reach them.
  chmodSync(builds, 0o711);
  const dashboard = withDashboard({ PORTICO_BUILD_DIR: path.join(builds, 'own') });
  let preview: TestPreview;
  const work = async () => {
    await dashboard.app.services.studio.moves.settled();
    await workOff(dashboard.app);
  };
  beforeAll(async () => {
    const { app } = dashboard;
    app.services.settings.public_url = app.url;
    preview = await startPreview(app, 'http://*.localhost', await builtDashboard());
    await seed(app, { ...files, ...more });
    expect((await app.ask('POST', `${studio}/route-patterns/detect`, { body: { save: true } })).status).toBe(200);
    const draft = {
      name: 'Live',
      branch: 'main',
      provider: 'build',
      build_command: command,
      output_directory: 'public',
    };
    const { status, body } = await app.ask('POST', `${studio}/environments`, { body: { ...draft, auto_deploy: true } });
    expect(status, JSON.stringify(body)).toBe(201);
    await work();
  });
  // Where a picture of the text lies in the repository is tried out as soon as its place in the editor is in sight, for a moment as well.
  beforeEach(() => dashboard.tolerate(/404.*\/studio\/file\?path=/));
  afterAll(async () => {
    await preview?.stop();
    rmSync(builds, { recursive: true, force: true });
  });
  const freshPage = async (slug: string, text = raw) => {
    const { status, body } = await dashboard.app.ask('POST', `${studio}/collections/posts`, {
      body: { slug, raw: text },
    });
    expect(status, JSON.stringify(body)).toBe(201);
    await work();
    return `/p/acme/site/content/posts/${slug}`;
  };
  return {
    dashboard,
    work,
    freshPage,
    async openOnPage(slug, text, visitor) {
      const page = await dashboard.open(await freshPage(slug, text), visitor);
      await titleField(page).waitFor();
      await page.getByText('Page', { exact: true }).click();
      await pageReady(page);
      return page;
    },
  };
}
