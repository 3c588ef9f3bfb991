/** Markdown as a tree, and what of it is safe to show. */
import type { Root } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';

/** Reads a text as CommonMark and GFM. */
export const parseMarkdown = (text: string): Root =>
  fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });

/** An address that may be followed; null for one that would run something, or is none. */
export function safeAddress(address: string): string | null {
  try {
    const { protocol } = new URL(address, 'https://relative.invalid/');
    return ['https:', 'http:', 'mailto:', 'tel:'].includes(protocol) ? address : null;
  } catch {
    return null;
  }
}
