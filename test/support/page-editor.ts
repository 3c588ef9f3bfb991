/** What tests do in the view *Page* of an entry: the page of its site in a frame, and pieces of it that are opened and typed into. */
import type { FrameLocator, Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { textBox } from './entry-editor.ts';

export const frameOf = (page: Page): FrameLocator => page.frameLocator('iframe[title="The page on its site"]');
/** The list of what can be edited. */
export const pieces = (page: Page) => page.getByRole('combobox', { name: 'Pieces of this page' });

/** The page is there, and what can be edited of it is known. */
export const pageReady = (page: Page) => expect.poll(() => pieces(page).isEnabled()).toBe(true);

/** The element with a name has the focus. */
export const expectFocus = (page: Page, name: string) =>
  expect.poll(() => page.evaluate(`document.activeElement?.getAttribute('aria-label')`)).toBe(name);

/** Clicks a piece of the page, by its text or as it is, and waits until this text can be typed into, and no longer that of the piece that was open. */
export async function edit(page: Page, piece: string | Locator): Promise<void> {
  const shown = typeof piece === 'string' ? frameOf(page).getByText(piece).first() : piece;
  const text = typeof piece === 'string' ? piece : await piece.innerText();
  await shown.click();
  await textBox(page).filter({ hasText: text }).waitFor();
  await expectFocus(page, 'Text');
}

/** Opens a piece from the list by keys alone, and waits until it can be typed into. @param name of what then has the focus */
export async function choose(page: Page, text: string, name = 'Text'): Promise<void> {
  await pieces(page).focus();
  await page.keyboard.press('Control+a');
  await page.keyboard.type(text);
  await page.getByRole('option', { name: text }).first().waitFor();
  await page.keyboard.press('Enter');
  await expectFocus(page, name);
}
