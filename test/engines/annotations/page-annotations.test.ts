import { afterEach, expect, it } from 'vitest';
import { createPageAnnotator } from '../../../src/engines/annotations/page-annotations.ts';
import type { PageAnnotator } from '../../../src/ports/page-annotator.ts';

let annotator: PageAnnotator;
afterEach(() => annotator?.close());

const source = {
  path: 'a.md',
  entry: 'pages/a',
  framework: null,
  built: 'The first warm day of the year.\n',
  current: null,
};
const html = '<main><p>The first warm day of the year.</p></main>';

it('reads a page in a process of its own, with its source or without', async () => {
  annotator = createPageAnnotator();
  expect((await annotator.read(html, source)).annotated).toMatchObject({ aligned: 1, blocks: [{ kind: 'paragraph' }] });
  expect(await annotator.read('<h1>Bees!</h1>', null)).toEqual({
    canonical: null,
    marked: null,
    headings: ['bees'],
    annotated: null,
  });
});

it('gives up a page whose time is over, and reads the next', async () => {
  annotator = createPageAnnotator({ deadline: 1_000 });
  const hostile = { ...source, built: '['.repeat(300_000) };
  await expect(annotator.read(html, hostile)).rejects.toMatchObject({ fault: 'too_complex' });
  await annotator.close();
  annotator = createPageAnnotator();
  expect((await annotator.read(html, source)).annotated?.aligned).toBe(1);
});

it('refuses pages once it is closed', async () => {
  annotator = createPageAnnotator();
  await annotator.close();
  await expect(annotator.read(html, null)).rejects.toMatchObject({ fault: 'unavailable' });
});
