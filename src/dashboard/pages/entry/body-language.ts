import { markdown, markdownLanguage } from '@codemirror/lang-markdown';

/** Letters of a paragraph after which the next line begins another one. */
const longParagraph = 8_000;

/**
 * A paragraph is parsed in one piece, at each key in it: 100 kB of lines without an empty one would take longer than a frame. Its parts look
 * as the whole does, but for emphasis that spans two of them.
 */
const boundedParagraphs: NonNullable<Parameters<typeof markdown>[0]>['extensions'] = {
  parseBlock: [{ name: 'BoundedParagraph', endLeaf: (_context, _line, { content }) => content.length > longParagraph }],
};

/** Markdown in the editor of a body. */
export const bodyLanguage = markdown({
  base: markdownLanguage,
  addKeymap: true,
  completeHTMLTags: false,
  extensions: boundedParagraphs,
});
