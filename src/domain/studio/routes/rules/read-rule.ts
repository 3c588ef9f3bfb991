import type { FrameworkId } from '../framework/frameworks.ts';
import { readAstroRule } from './astro/astro.ts';
import { readGatsbyRule } from './conventions/gatsby.ts';
import { readHexoRule } from './conventions/hexo.ts';
import { readMkdocsRule } from './conventions/mkdocs.ts';
import { readNextRule } from './conventions/next.ts';
import { readNuxtRule } from './conventions/nuxt.ts';
import { readSveltekitRule } from './conventions/sveltekit.ts';
import { readDocusaurusRule } from './docusaurus/docusaurus.ts';
import { readEleventyRule } from './eleventy/eleventy.ts';
import { readHugoRule } from './hugo/hugo.ts';
import { readJekyllRule } from './jekyll/jekyll.ts';
import type { ReadRule } from './rule.ts';
import { readVitepressRule } from './vitepress.ts';

/** The rule of each framework. A further one is one file and one line here. */
export const ruleReaders: Record<FrameworkId, ReadRule> = {
  astro: readAstroRule,
  starlight: readAstroRule,
  hugo: readHugoRule,
  jekyll: readJekyllRule,
  eleventy: readEleventyRule,
  vitepress: readVitepressRule,
  docusaurus: readDocusaurusRule,
  next: readNextRule,
  nextra: readNextRule,
  gatsby: readGatsbyRule,
  nuxt_content: readNuxtRule,
  sveltekit: readSveltekitRule,
  hexo: readHexoRule,
  mkdocs: readMkdocsRule,
};
