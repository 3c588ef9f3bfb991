import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { commitTo } from '../support/conflict-site.ts';
import { expectGoodPage } from '../support/dashboard.ts';
import {
  editorReady,
  expectDiff,
  freshEntry,
  full,
  save,
  saveButton,
  saveState,
  stored,
  withEditor,
} from '../support/entry-editor.ts';

const dashboard = withEditor();

const field = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true });

/** What is edited by which name, and the lines of the file that differ then. */
const edits: [widget: string, edit: (page: Page) => Promise<unknown>, lines: string[]][] = [
  [
    'text',
    (page) => field(page, 'Title').fill('Omega'),
    ['-title: "Alpha"   # quoted on purpose', '+title: "Omega"   # quoted on purpose'],
  ],
  ['long text', (page) => field(page, 'Summary').fill('Long.'), ['-summary: Short.', '+summary: Long.']],
  [
    'date',
    async (page) => {
      const date = field(page, 'Date');
      await date.fill('31 Feb 2026');
      await page.keyboard.press('Tab');
      await page.getByText('Write a date, such as 1 Mar 2026.').waitFor();
      await date.fill('1 May 2026');
      await page.getByRole('button', { name: 'Date: choose in a calendar' }).click();
      await page.getByRole('button', { name: 'Previous month' }).click();
      await page.getByRole('button', { name: '2 April 2026', exact: true }).click();
      await expect.poll(() => date.inputValue()).toBe('2 Apr 2026');
    },
    ['-date: 2026-03-01', '+date: 2026-04-02'],
  ],
  [
    'time of a date',
    (page) => page.getByLabel('Time of Starts').fill('11:30:00'),
    ['-starts: 2026-03-01T10:00:00Z', '+starts: 2026-03-01T11:30:00Z'],
  ],
  [
    'time that is typed without seconds',
    (page) => page.getByLabel('Time of Starts').fill('11:30'),
    ['-starts: 2026-03-01T10:00:00Z', '+starts: 2026-03-01T11:30:00Z'],
  ],
  ['switch', (page) => page.getByRole('switch', { name: 'Draft' }).click(), ['-draft: true', '+draft: false']],
  ['number', (page) => field(page, 'Rating').fill('4.5'), ['-rating: 4', '+rating: 4.5']],
  [
    'select',
    async (page) => {
      await page.getByRole('combobox', { name: 'Season' }).click();
      await page.getByRole('option', { name: 'autumn' }).click();
    },
    ['-season: spring', '+season: autumn'],
  ],
  [
    'tags',
    async (page) => {
      await page.getByRole('combobox', { name: 'Tags' }).fill('three');
      await page.keyboard.press('Enter');
    },
    ['-tags: [one, two]', '+tags: [one, two, three]'],
  ],
  [
    'colour',
    (page) => page.getByLabel('Color', { exact: true }).fill('#112233'),
    ["-color: '#aabbcc'", "+color: '#112233'"],
  ],
  [
    'address',
    (page) => field(page, 'Website').fill('https://example.com/'),
    ['-website: https://example.org/', '+website: https://example.com/'],
  ],
  [
    'relation',
    async (page) => {
      await page.getByRole('combobox', { name: 'Author' }).fill('Bob');
      await page.getByRole('option', { name: /bob/ }).click();
    },
    ['-author: ada', '+author: bob'],
  ],
  [
    'field of an object',
    (page) => field(page, 'City').fill('Bruges'),
    ['-  city: Ghent   # old town', '+  city: Bruges   # old town'],
  ],
  [
    'order of a list',
    (page) => page.getByRole('button', { name: 'Move Steps 2 up' }).click(),
    [
      ...['-  - unit: hours', '-    name: Dig', '-    minutes: 10', '-  - name: Sow'],
      ...['+  - name: Sow', '+  - unit: hours', '+    name: Dig', '+    minutes: 10'],
    ],
  ],
  [
    'duplicate of an item',
    async (page) => {
      await page.getByRole('button', { name: 'More for Steps 1' }).click();
      await page.getByRole('menuitem', { name: 'Duplicate' }).click();
      await field(page, 'Name').nth(2).waitFor();
    },
    ['+  - unit: hours', '+    name: Dig', '+    minutes: 10'],
  ],
  [
    'typed block',
    (page) => field(page, 'Words').fill('So it was.'),
    ['-    words: So it is.', '+    words: So it was.'],
  ],
  [
    'YAML',
    (page) => field(page, 'Extra').fill('a: 2\nb: [x, y]'),
    ['-extra: { a: 1, b: [x, y] }', '+extra: { a: 2, b: [x, y] }'],
  ],
  ['field the schema does not have', (page) => field(page, 'Weight').fill('8'), ['-weight: 7', '+weight: 8']],
];

test('a typed block is of the kind that is chosen, and has no field for it', async () => {
  const page = await dashboard.open(await freshEntry(dashboard.app, 'en/typed'));
  await field(page, 'Words').waitFor();
  expect(await page.getByRole('combobox', { name: /^Kind of / }).count()).toBeGreaterThan(0);
  expect(await page.getByRole('textbox', { name: 'Type' }).count()).toBe(0);
});

describe('a field edited in the form', () => {
  test.each(edits)('of kind %s changes nothing else in the file', async (widget, edit, lines) => {
    const { app } = dashboard;
    const slug = `en/${widget.replaceAll(' ', '-').toLowerCase()}`;
    const page = await dashboard.open(await freshEntry(app, slug));
    await expectDiff(app, page, slug, () => edit(page), lines);
  });
});

test('another entry is found by what is typed, also in place of the one that is chosen', async () => {
  const { app } = dashboard;
  const others = Array.from({ length: 25 }, (_, at) => [`src/content/authors/aa-${at}.yaml`, `name: Aa ${at}\n`]);
  await commitTo(app, 'main', { ...Object.fromEntries(others), 'src/content/authors/zoe.yaml': 'name: Zoe\n' });
  const page = await dashboard.open(await freshEntry(app, 'en/found'));
  const author = page.getByRole('combobox', { name: 'Author' });
  await author.click();
  await page.getByRole('option').nth(19).waitFor();
  await author.fill('zo');
  const zoe = page.getByRole('option', { name: 'Zoe · zoe' });
  await zoe.waitFor();
  expect(await page.getByRole('option').count()).toBe(1);
  expect(await author.inputValue()).toBe('zo');
  await author.fill('nobody');
  await page.getByText('Nothing found').waitFor();
  await author.fill('zoe');
  await zoe.click();
  expect(await author.inputValue()).toBe('Zoe · zoe');
  await save(page);
  expect(await stored(app, 'en/found')).toContain('author: zoe\n');
});

test('what is typed as YAML is a text first, and the field keeps the focus', async () => {
  const { app } = dashboard;
  const page = await dashboard.open(await freshEntry(app, 'en/typed-yaml'));
  await expectDiff(
    app,
    page,
    'en/typed-yaml',
    async () => {
      await field(page, 'Extra').press('Control+A');
      await page.keyboard.type('a: 2\nb: [x, y]');
    },
    ['-extra: { a: 1, b: [x, y] }', '+extra: { a: 2, b: [x, y] }'],
  );
});

test('an optional field that is emptied goes from the file', async () => {
  const { app } = dashboard;
  const page = await dashboard.open(await freshEntry(app, 'en/emptied'));
  await expectDiff(app, page, 'en/emptied', () => field(page, 'Summary').fill(''), ['-summary: Short.']);
});

test('a required text that is emptied is refused, and the file stays as it was', async () => {
  const { app } = dashboard;
  const page = await dashboard.open(await freshEntry(app, 'en/title-emptied'));
  await editorReady(page);
  await field(page, 'Title').fill('');
  await saveButton(page).click();
  await page.getByText('is required').first().waitFor();
  expect(await field(page, 'Title').getAttribute('aria-invalid')).toBe('true');
  expect(await stored(app, 'en/title-emptied')).toBe(full);
  await expectDiff(app, page, 'en/title-emptied', () => field(page, 'Title').fill('Back'), [
    '-title: "Alpha"   # quoted on purpose',
    '+title: "Back"   # quoted on purpose',
  ]);
});

test.each([
  ['2.5', 'Write a whole number, such as 3.'],
  ['1e21', 'This number has more digits than can be stored exactly.'],
  ['12345678901234567890', 'This number has more digits than can be stored exactly.'],
])('%s, typed for a whole number, stays what was typed, and is not saved', async (typed, fault) => {
  const { app } = dashboard;
  const slug = `en/number-${typed.length}`;
  const page = await dashboard.open(await freshEntry(app, slug));
  const count = field(page, 'Count');
  await count.pressSequentially(typed);
  await page.keyboard.press('Tab');
  await page.getByText(fault).waitFor();
  expect(await count.inputValue()).toBe(typed);
  await saveButton(page).click();
  await page.getByText('A field has text that is no value of its kind.').waitFor();
  expect(await stored(app, slug)).toBe(full);
  await expectDiff(app, page, slug, () => count.fill('30'), ['+count: 30']);
  // What was saved on the way stays when one types on.
  await count.press('End');
  await count.pressSequentially('x');
  await saveButton(page).click();
  await page.getByText('Write a whole number').waitFor();
  expect(await stored(app, slug)).toContain('count: 30\n');
});

test('a fault of a field stands beside it, and nothing is saved', async () => {
  const { app } = dashboard;
  const page = await dashboard.open(await freshEntry(app, 'en/faulty'));
  await editorReady(page);
  const before = await stored(app, 'en/faulty');
  await field(page, 'Title').fill('x'.repeat(5000));
  await saveState(page, 'All changes saved in this browser');
  await saveButton(page).click();
  await page
    .getByText(/at most 80 characters/)
    .first()
    .waitFor();
  expect(await field(page, 'Title').getAttribute('aria-invalid')).toBe('true');
  expect(await stored(app, 'en/faulty')).toBe(before);
  await field(page, 'Title').fill('Short');
  await saveButton(page).click();
  await saveState(page, 'Nothing to save');
  expect(await stored(app, 'en/faulty')).toContain('title: "Short"');
});

test('what is wrong with a stored entry stands beside its fields, until each is changed', async () => {
  const { app } = dashboard;
  const wrong = full.replace('rating: 4', 'rating: many').replace('season: spring', 'season: monsoon');
  await commitTo(app, 'main', { 'src/content/posts/en/wrong.md': wrong });
  const page = await dashboard.open('/p/acme/site/content/posts/en/wrong');
  await editorReady(page);
  const season = page.getByRole('combobox', { name: 'Season' });
  const isInvalid = (input: Locator) => input.getAttribute('aria-invalid');
  await expect.poll(() => isInvalid(season)).toBe('true');
  expect(await isInvalid(field(page, 'Title'))).not.toBe('true');
  await season.click();
  await page.getByRole('option', { name: 'autumn' }).click();
  await expect.poll(() => isInvalid(season)).not.toBe('true');
  await save(page);
  // The other one is still wrong, and still says so.
  await expect.poll(() => isInvalid(field(page, 'Rating'))).toBe('true');
  expect(await stored(app, 'en/wrong')).toContain('season: autumn');
});

test('the page is good in both themes and at three widths', async () => {
  const page = await dashboard.open(await freshEntry(dashboard.app, 'en/looks'));
  await editorReady(page);
  await expectGoodPage(page);
});
