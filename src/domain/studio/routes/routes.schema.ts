import { z } from 'zod';
import { frameworkIds } from '../frameworks/frameworks.ts';
import { studioWarning } from '../schema/schema.schema.ts';

export const longestPattern = 1_000;
const patternText = z
  .string()
  .min(1, 'must not be empty')
  .max(longestPattern, `must be at most ${longestPattern} characters`)
  .startsWith('/', 'must begin with /')
  .describe('Path with `{slug}`, `{year}`, `{month}`, `{day}`, `{locale}` and `{<frontmatter field>}`');

const source = z.object({ path: z.string().max(4096), line: z.int32().optional() }).meta({ id: 'RoutePatternSource' });

/** How the addresses of a collection's entries look. */
export const routePattern = z
  .object({
    collection: z.string().max(100),
    content_glob: z.string().max(4200).default('').describe('Files it is about, from the root of the repository'),
    url_pattern: patternText,
    index_rule: z
      .enum(['directory', 'file'])
      .default('directory')
      .describe('directory: an index file has the address of its directory'),
    trailing_slash: z.boolean().default(true).describe('Addresses end in a slash'),
    locale: z.string().max(35).optional().describe('Only entries of this language'),
    confidence: z.number().min(0).max(1).default(1),
    source: source
      .nullable()
      .default(null)
      .describe(
        'What it was derived from: addresses then follow the site’s configuration; null: they follow the pattern as written',
      ),
  })
  .meta({ id: 'RoutePattern' });
export type RoutePattern = z.output<typeof routePattern>;

export const routePatterns = z.array(routePattern).max(1000, 'must be at most 1000 patterns');

const framework = z
  .object({
    id: z.enum(frameworkIds),
    version: z.string().optional(),
    confidence: z.number(),
    evidence: z.array(z.string()),
  })
  .meta({ id: 'DetectedFramework' });

const environmentDefaults = z
  .object({
    root_directory: z.string().describe('Where the commands run'),
    package_manager: z.string().nullable(),
    install_command: z.string().nullable(),
    build_command: z.string().nullable().describe('null: the files are published as they are'),
    output_directory: z.string().describe('Relative to `root_directory`'),
  })
  .meta({ id: 'EnvironmentDefaults' });

const patternsCheck = {
  urls: z.int32().describe('Pages that are there'),
  entries: z.int32().describe('Entries that should be published'),
  hits: z.int32().describe('Of these, those whose predicted address is one of a page'),
  hit_rate: z.number(),
  misses: z
    .array(z.object({ path: z.string(), url: z.string().nullable() }).meta({ id: 'RouteMiss' }))
    .describe('Entries whose predicted address is none of a page; the first 100'),
  surplus: z.array(z.string()).describe('Pages that are no entry, such as lists and tags; the first 100'),
  surplus_count: z.int32(),
};

const sitemapCheck = z.object(patternsCheck).meta({ id: 'SitemapCheck' });

export const outputCheck = z
  .object({ deployment_id: z.int32(), commit_sha: z.string().describe('What it was made of'), ...patternsCheck })
  .meta({ id: 'OutputCheck' });

export const detectedRoutes = z
  .object({
    framework: framework.nullable(),
    root: z.string().describe('Directory of the site'),
    base: z.string().describe('Path all of the site lies below'),
    patterns: z.array(routePattern),
    samples: z.array(
      z
        .object({
          path: z.string(),
          url: z.string(),
          verified: z.boolean().optional().describe('After a comparison: whether there is a page at the address'),
        })
        .meta({ id: 'RouteSample' }),
    ),
    environment_defaults: environmentDefaults,
    sitemap: sitemapCheck.optional().describe('With `sitemap_url`'),
    output: outputCheck.optional().describe('With `environment_id` or `deployment_id`'),
    saved: z.boolean(),
    warnings: z.array(studioWarning),
  })
  .meta({ id: 'DetectedRoutes' });

/** The routes a project has chosen: where they were found, and how they look. */
export interface SavedRoutes {
  /** Directory of the site; null: the project's content root, else found. */
  root: string | null;
  patterns: RoutePattern[];
}
