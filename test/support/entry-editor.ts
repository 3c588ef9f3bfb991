/** A site whose entry has a field for every widget, and what tests of the entry's editor do with it. */

import type { Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { seed, studio, type TestApp } from './app.ts';
import { type Dashboard, withDashboard } from './dashboard.ts';

const config = `import { defineCollection, reference } from 'astro:content';
import { glob } from 'astro/loaders';
import { z } from 'astro/zod';
const posts = defineCollection({
  loader: glob({ pattern: '**/*.md', base: './src/content/posts' }),
  schema: ({ image }) => z.object({
    title: z.string().max(80).describe('What readers see first'),
    summary: z.string().max(300).optional(),
    date: z.coerce.date().optional(),
    starts: z.string().datetime().optional(),
    draft: z.boolean().default(false),
    rating: z.number().min(0).max(5).optional(),
    count: z.number().int().optional(),
    season: z.enum(['spring', 'summer', 'autumn']).optional(),
    tags: z.array(z.string()).default([]),
    cover: image().optional(),
    color: z.string().regex(/^#[0-9a-f]{6}$/).optional(),
    website: z.string().url().optional(),
    author: reference('authors'),
    place: z.object({ city: z.string(), floor: z.number().optional() }).optional(),
    steps: z.array(z.object({ name: z.string(), minutes: z.number().optional() })).optional(),
    blocks: z.array(z.discriminatedUnion('type', [
      z.object({ type: z.literal('quote'), words: z.string() }),
      z.object({ type: z.literal('figure'), source: z.string() }),
    ])).optional(),
    extra: z.record(z.any()).optional(),
  }),
});
const authors = defineCollection({
  loader: glob({ pattern: '*.yaml', base: './src/content/authors' }),
  schema: z.object({ name: z.string() }),
});
export const collections = { posts, authors };
`;

export const full = `---
# What readers see first.
title: "Alpha"   # quoted on purpose
summary: Short.
date: 2026-03-01
starts: 2026-03-01T10:00:00Z
draft: true
rating: 4
season: spring
tags: [one, two]
color: '#aabbcc'
website: https://example.org/
author: ada
place:
  city: Ghent   # old town
  floor: 2
steps:
  - unit: hours
    name: Dig
    minutes: 10
  - name: Sow
blocks:
  - type: quote
    words: So it is.
extra: { a: 1, b: [x, y] }
weight: 7
---

# Alpha

Alpha body, with café and *stars*.

Second paragraph.
`;

export const editorFiles: Record<string, string> = {
  'astro.config.mjs': `import { defineConfig } from 'astro/config';
export default defineConfig({ i18n: { locales: ['en', 'de'], defaultLocale: 'en' } });
`,
  'src/content.config.ts': config,
  'src/content/authors/ada.yaml': 'name: Ada\n',
  'src/content/authors/bob.yaml': 'name: Bob\n',
  'src/content/posts/en/alpha.md': full,
  'public/images/logo.svg': '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>\n',
};

const posts = `${studio}/collections/posts`;

/** Starts the dashboard with that site, for the tests of a file. */
export function withEditor(): Dashboard {
  const dashboard = withDashboard();
  beforeAll(() => seed(dashboard.app, editorFiles));
  return dashboard;
}

/** An entry of its own for a test: a copy of `full`, unless another text is given. */
export async function freshEntry(app: TestApp, slug: string, raw = full): Promise<string> {
  const made = await app.ask('POST', posts, { body: { slug, raw } });
  if (made.status !== 201) throw new Error(`${slug}: ${JSON.stringify(made.body)}`);
  return `/p/acme/site/content/posts/${slug}`;
}

/** The whole file as it is stored. */
export async function stored(app: TestApp, slug: string, branch = 'main'): Promise<string> {
  const { body } = await app.ask('GET', `${posts}/${slug}?raw=true&branch=${encodeURIComponent(branch)}`);
  return body.raw as string;
}

/** Saves an entry as somebody else. */
export async function saveElsewhere(app: TestApp, slug: string, change: object): Promise<void> {
  const { status, body } = await app.ask('PUT', `${posts}/${slug}`, { body: change });
  if (status !== 200) throw new Error(JSON.stringify(body));
}

/** Lines that went, with `-`, and that came, with `+`, as `git diff -U0` shows them. */
export function changedLines(before: string, after: string): string[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  let [start, end] = [0, 0];
  while (start < Math.min(old.length, now.length) && old[start] === now[start]) start += 1;
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  return [
    ...old.slice(start, old.length - end).map((line) => `-${line}`),
    ...now.slice(start, now.length - end).map((line) => `+${line}`),
  ];
}

export const textBox = (page: Page) => page.getByRole('textbox', { name: 'Text', exact: true });
export const saveButton = (page: Page) => page.getByRole('button', { name: 'Save', exact: true });
export const saveState = (page: Page, text: string | RegExp) =>
  page.getByRole('status').filter({ hasText: text }).first().waitFor();

/** The editor is there, with its text. */
export async function editorReady(page: Page): Promise<void> {
  await textBox(page).waitFor();
  await page.getByRole('textbox', { name: 'Title', exact: true }).waitFor();
}

/** The page is that of this entry: its address is there before. */
export const entryShown = (page: Page, slug: string) =>
  page.getByRole('navigation', { name: 'Where the entry is' }).getByText(slug, { exact: true }).waitFor();

/** What this browser has of entries that are not saved. */
export const localDrafts = (page: Page) =>
  page.evaluate(`new Promise((resolve, reject) => {
    const opening = indexedDB.open('portico');
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const request = opening.result.transaction('drafts').objectStore('drafts').getAll();
      request.onsuccess = () => { opening.result.close(); resolve(request.result); };
    };
  })`) as Promise<{ text: string }[]>;

/** This browser has a text with these words. That it has all changes the page says of those before them, too. */
export const expectKept = (page: Page, words: string) =>
  expect.poll(async () => (await localDrafts(page)).map(({ text }) => text).join('\n')).toContain(words);

/** Saves by its button, and waits until it is. */
export async function save(page: Page): Promise<void> {
  await saveState(page, 'All changes saved in this browser');
  await saveButton(page).click();
  await saveState(page, /^(Nothing to save|Everything is in the draft)$/);
}

/** Edits an entry, and expects the lines of its file that this changes. */
export async function expectDiff(
  app: TestApp,
  page: Page,
  slug: string,
  edit: () => Promise<unknown>,
  lines: string[],
) {
  await editorReady(page);
  const before = await stored(app, slug);
  await edit();
  await save(page);
  expect(changedLines(before, await stored(app, slug))).toEqual(lines);
}

/** The field of an entry's title. */
export const titleField = (page: Page) => page.getByRole('textbox', { name: 'Title', exact: true });
