import { isRecord } from '../../../frontmatter/values.ts';
import { compileGlob } from '../../../schema/glob.ts';
import { below, joinPath } from '../../../schema/site-layout.ts';
import { basePath, directoryOf, nameOf, urlPath } from '../paths.ts';
import { lessUnknown, type RouteReading, type RouteRule } from '../rule.ts';
import { readDirectoryData } from './directory-data.ts';
import { type EleventyConfig, readEleventyConfig } from './eleventy-config.ts';
import { fillPermalink } from './permalink.ts';

const usualFormats = [
  'liquid',
  'md',
  'njk',
  'html',
  '11ty.js',
  '11ty.cjs',
  '11ty.mjs',
  'hbs',
  'mustache',
  'haml',
  'pug',
  'ejs',
];

/** Eleventy: `permalink` of the page or of the data beside it, else the path below the input directory. */
export async function readEleventyRule(reading: RouteReading): Promise<RouteRule> {
  const config = await readEleventyConfig(reading);
  const input = joinPath(reading.layout.root, config.input.includes('..') ? '' : config.input);
  const data = await readDirectoryData(reading, input);
  const formats = (config.formats ?? usualFormats).toSorted((a, b) => b.length - a.length);
  const isIgnored = await ignoring(reading, config, input);
  const source = { path: reading.detected.config ?? reading.layout.root };
  return {
    base: basePath(config.pathPrefix),
    urlOf({ path, frontmatter: own }) {
      const rest = below(input, path);
      const format = formats.find((one) => path.endsWith(`.${one}`));
      if (rest === null || format === undefined || isIgnored(path, rest)) return null;
      const stem = rest.slice(0, -format.length - 1);
      const around = data.of(joinPath(input, stem));
      const frontmatter = { ...around.values, ...own };
      if (config.hidesDrafts && frontmatter.draft === true) return null;
      const computed = isRecord(own.eleventyComputed) ? own.eleventyComputed.permalink : undefined;
      const written = computed ?? frontmatter.permalink;
      const permalink = isRecord(written) ? written.build : written;
      if (permalink === false || (around.unclear && permalink === undefined)) return null;
      if (typeof permalink === 'string') {
        const filled = fillPermalink(permalink, { stem, frontmatter });
        return filled === null ? null : urlPath(filled).replace(/(^|\/)index\.html$/, '$1');
      }
      return urlPath(defaultPath(stem));
    },
    evidenceOf: (path) => {
      const stem = path.replace(/\.[^/.]*$/, '');
      return { confidence: lessUnknown(0.9, data.of(stem).unclear ? 1 : 0), source };
    },
  };
}

/** `a/index` and `a/a` → `a/`, everything else a directory of its own. */
function defaultPath(stem: string): string {
  const [directory, name] = [directoryOf(stem), nameOf(stem)];
  const own = name === 'index' || name === nameOf(directory);
  return own ? `${directory}/` : `${stem}/`;
}

async function ignoring(reading: RouteReading, config: EleventyConfig, input: string) {
  const lines: string[] = [];
  for (const path of [joinPath(reading.layout.root, '.eleventyignore'), joinPath(reading.layout.root, '.gitignore')]) {
    if (!reading.present.has(path)) continue;
    reading.dependencies.add(path);
    lines.push(...((await reading.site.read(path)) ?? '').split(/\r?\n/).map((line) => line.trim()));
  }
  const patterns = [...config.ignored, ...lines.filter((line) => line !== '' && !/^[#!]/.test(line))];
  const globs = patterns.map((pattern) => {
    const plain = pattern.replace(/^(\.?\/)+|\/+$/g, '');
    return { plain, glob: compileGlob(plain) };
  });
  const parts = [...config.includes, config.data].filter(Boolean).map((one) => joinPath(input, one));
  const output = joinPath(reading.layout.root, config.output);
  return (path: string, rest: string): boolean => {
    const inRoot = below(reading.layout.root, path) ?? path;
    if (rest.split('/').includes('node_modules') || below(output, path) !== null) return true;
    if (rest.split('/').some((part) => part.startsWith('.')) || /\.11tydata\./.test(path)) return true;
    if (parts.some((part) => below(part, path) !== null)) return true;
    return globs.some(
      ({ plain, glob }) =>
        inRoot === plain || inRoot.startsWith(`${plain}/`) || nameOf(path) === plain || glob?.matches(inRoot),
    );
  };
}
