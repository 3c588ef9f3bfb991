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

const tellingTexts = (count: number) =>
  Array.from({ length: count }, (_, at) => `The telling paragraph number ${at} of ${(at * 7919) % 99_991}`);

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

it('gives back no more of a page than a bound for each block', async () => {
  annotator = createPageAnnotator({ deadline: 30_000 });
  const texts = Array.from(
    { length: 2_000 },
    (_, at) => `The telling paragraph number ${at} of ${(at * 7919) % 99_991}`,
  );
  const key = 'k'.repeat(20_000);
  const long = `x-${'a'.repeat(50_000)}`;
  const fields = texts.slice(0, 200).map((text, at) => `  f${at}: Field ${text}\n`);
  const page = [
    `<link rel="canonical" href="https://example.org/${'c'.repeat(20_000)}"><h1>${'h'.repeat(20_000)}</h1>`,
    ...texts.slice(0, 200).map((text) => `<p>Field ${text}</p>`),
    `<${long}>${texts.map((text) => `<p>${text}</p>`).join('')}</${long}>`,
  ].join('');
  const built = `---\n? ${key}\n:\n${fields.join('')}---\n${texts.join('\n\n')}\n`;
  const reading = await annotator.read(page, { ...source, built });
  expect(reading).toMatchObject({ canonical: null, headings: [], annotated: { aligned: 1 } });
  expect(reading.annotated?.blocks).toHaveLength(texts.length);
  expect(JSON.stringify(reading).length).toBeLessThan(texts.length * 500);
});

it('gives back no more than so many blocks', async () => {
  annotator = createPageAnnotator({ deadline: 60_000 });
  const texts = tellingTexts(10_100);
  const page = texts.map((text) => `<p>${text}</p>`).join('');
  const { annotated } = await annotator.read(page, { ...source, built: texts.join('\n\n') });
  expect(annotated?.aligned).toBe(1);
  expect(annotated?.blocks).toHaveLength(10_000);
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
