import { readAstroRule } from './astro/routes.ts';
import { readGatsbyRule } from './conventions/gatsby.ts';
import { readMkdocsRule } from './conventions/mkdocs.ts';
import { readNextRule } from './conventions/next.ts';
import { readSveltekitRule } from './conventions/sveltekit.ts';
import { readVitepressRule } from './conventions/vitepress.ts';
import { readDocusaurusRule } from './docusaurus/routes.ts';
import { readEleventyRule } from './eleventy/routes.ts';
import type { FrameworkId } from './frameworks.ts';
import { readHexoRule } from './hexo/routes.ts';
import { readHugoRule } from './hugo/routes.ts';
import { readJekyllRule } from './jekyll/routes.ts';
import { readNuxtRule } from './nuxt/routes.ts';
import type { RouteReader } from './routing/route-rule.ts';

/** The rule of each framework. A further one is one file and one line here. */
export const routeReaders: Record<FrameworkId, RouteReader> = {
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
