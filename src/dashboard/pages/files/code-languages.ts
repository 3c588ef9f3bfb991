/** The languages that files are coloured in. */
import { css } from '@codemirror/lang-css';
import { html } from '@codemirror/lang-html';
import { javascript } from '@codemirror/lang-javascript';
import { markdown } from '@codemirror/lang-markdown';
import { yaml, yamlFrontmatter } from '@codemirror/lang-yaml';
import type { Extension } from '@codemirror/state';

/** By the ending of the name; others have no colours. */
const languages: Record<string, () => Extension> = {
  // Without a prototype: an ending may be called `constructor`.
  __proto__: null as never,
  css,
  scss: css,
  html: () => html(),
  htm: () => html(),
  astro: () => html(),
  vue: () => html(),
  svelte: () => html(),
  svg: () => html(),
  xml: () => html(),
  js: () => javascript(),
  mjs: () => javascript(),
  cjs: () => javascript(),
  json: () => javascript(),
  jsx: () => javascript({ jsx: true }),
  ts: () => javascript({ typescript: true }),
  mts: () => javascript({ typescript: true }),
  tsx: () => javascript({ jsx: true, typescript: true }),
  md: () => yamlFrontmatter({ content: markdown() }),
  mdx: () => yamlFrontmatter({ content: markdown() }),
  markdown: () => yamlFrontmatter({ content: markdown() }),
  yaml,
  yml: yaml,
};

/** What colours a file of this name; nothing where no language is known. */
export const languageOf = (name: string): Extension =>
  languages[name.slice(name.lastIndexOf('.') + 1).toLowerCase()]?.() ?? [];
