/** How CodeMirror shows text wherever it does: in the colours of the theme, with marks for what could deceive. */
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import { highlightSpecialChars } from '@codemirror/view';
import { tags } from '@lezer/highlight';

const highlight = HighlightStyle.define([
  { tag: tags.heading, fontWeight: '600' },
  { tag: tags.strong, fontWeight: '600' },
  { tag: tags.emphasis, fontStyle: 'italic' },
  { tag: tags.strikethrough, textDecoration: 'line-through' },
  { tag: [tags.link, tags.url], color: 'var(--p-accent)' },
  { tag: [tags.monospace, tags.string], color: 'var(--p-good)' },
  { tag: [tags.processingInstruction, tags.comment, tags.meta, tags.contentSeparator], color: 'var(--p-soft)' },
  { tag: [tags.propertyName, tags.keyword, tags.tagName, tags.attributeName], color: 'var(--p-accent)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--p-warn)' },
]);

export const codeColours: Extension = syntaxHighlighting(highlight);

/** Characters that change what is seen without being seen: shown as marks. */
export const markUnseen: Extension = highlightSpecialChars({
  addSpecialChars: /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g,
});
