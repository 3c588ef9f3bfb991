import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { alignPage } from '../src/domain/studio/annotations/align-page.ts';
import { type Leaf, leavesOf, type Page } from '../src/domain/studio/annotations/page-leaves.ts';
import {
  blocksOfFile,
  type Dialect,
  dialectOf,
  type SourceBlock,
} from '../src/domain/studio/annotations/source-blocks.ts';
import { filesAt, filesBelow } from '../test/support/routes/built-pages.ts';
import { copySite, type FixtureSite, fixtureSites } from '../test/support/routes/fixture-sites.ts';
import { predictedIn } from '../test/support/routes/real-build.ts';
import { type Bench, type Benchmark, type Case, check, timedCase } from './benchmark.ts';
import { repositoriesDirectory } from './support/repositories.ts';
import { type Flavour, richBody } from './support/rich-bodies.ts';
import { root } from './support/server.ts';

const flavours: Record<string, Flavour> = {
  docusaurus: 'mdx',
  starlight: 'plain',
  astro: 'plain',
  hugo: 'shortcodes',
  'hugo-layers': 'shortcodes',
  jekyll: 'liquid',
  eleventy: 'liquid',
  mkdocs: 'admonitions',
  vitepress: 'containers',
};

/** A token names the block whose first letter it stands before. */
const token = /qz(\d+)zq/gi;
const tokenOf = (block: number) => `qz${block}zq`;

/** Where the text of a block begins that a reader sees; null where a token could not stand. */
function firstLetter(text: string, { kind, start, end }: SourceBlock): number | null {
  if (kind === 'html') return null;
  const whole = text.slice(start, end);
  const fence = kind === 'code' ? (/^[ \t]*(?:```|~~~)[^\n]*\n[ \t>]*/.exec(whole)?.[0].length ?? 0) : 0;
  const at = whole.slice(fence).search(/[\p{L}\p{N}]/u);
  if (at < 0) return null;
  const before = whole.slice(fence, fence + at);
  if (/[<&{(:]/.test(before)) return null;
  // Ordered items begin behind their numbers, and so do blocks; what is left of an indentation is none.
  return start + fence + at;
}

function withTokens(text: string, blocks: readonly SourceBlock[]): string {
  let marked = text;
  const places = blocks.flatMap((block, index) => {
    const at = firstLetter(text, block);
    return at === null ? [] : [{ at, index }];
  });
  for (const { at, index } of places.sort((a, b) => b.at - a.at))
    marked = marked.slice(0, at) + tokenOf(index) + marked.slice(at);
  return marked;
}

interface Prepared {
  file: string;
  text: string;
  dialect: Dialect;
  blocks: SourceBlock[];
}

const read = async (file: string) => readFile(file, 'utf8');

/** Gives every plain page of a site a long body. */
async function fill(directory: string, { name, framework }: FixtureSite): Promise<Prepared[]> {
  const paths = (await filesBelow(directory)).filter((file) => /\.mdx?$/.test(file));
  const { urls } = await predictedIn(directory, paths);
  const prepared: Prepared[] = [];
  for (const [number, file] of [...urls.keys()].entries()) {
    const text = `${(await read(path.join(directory, file))).trimEnd()}\n\n${richBody(number, flavours[name] ?? 'plain')}`;
    await writeFile(path.join(directory, file), text);
    const dialect = dialectOf(framework, file);
    prepared.push({ file, text, dialect, blocks: blocksOfFile(text, file, dialect) });
  }
  return prepared;
}

interface Built {
  page: Page;
  html: string;
}

async function pagesOf(directory: string, output: string, files: readonly string[]): Promise<Map<string, Built>> {
  const { routes, urls } = await predictedIn(directory, files);
  const built = new Set(await filesBelow(output));
  const pages = new Map<string, Built>();
  for (const [file, url] of urls) {
    const at = filesAt(url, routes.base).find((one) => built.has(one));
    if (at === undefined) continue;
    const html = await read(path.join(output, at));
    pages.set(file, { html, page: leavesOf(html) });
  }
  return pages;
}

const stripped = ({ kind, text }: Leaf) => `${kind} ${text.replace(token, '')}`;

interface Result {
  name: string;
  pages: number;
  leftOut: number;
  blocks: number;
  right: number;
  wrong: string[];
  missed: string[];
  milliseconds: number[];
}

async function judgeSite(site: FixtureSite, bench: Bench): Promise<Result> {
  const copy = await copySite(site, root, path.join(repositoriesDirectory, 'sites'));
  bench.defer(copy.remove);
  const prepared = await fill(copy.directory, site);
  const files = prepared.map(({ file }) => file);
  await copy.build();
  const plain = await pagesOf(copy.directory, copy.output, files);
  for (const { file, text, blocks } of prepared)
    await writeFile(path.join(copy.directory, file), withTokens(text, blocks));
  await copy.build();
  const marked = await pagesOf(copy.directory, copy.output, files);
  const result: Result = {
    name: site.name,
    pages: 0,
    leftOut: 0,
    blocks: 0,
    right: 0,
    wrong: [],
    missed: [],
    milliseconds: [],
  };
  const readings: (() => unknown)[] = [];
  for (const { file, text, dialect, blocks } of prepared) {
    const [before, after] = [plain.get(file), marked.get(file)];
    if (!before || !after) continue;
    const { leaves } = before.page;
    const isSame =
      leaves.length === after.page.leaves.length &&
      leaves.every((leaf, index) => stripped(leaf) === stripped(after.page.leaves[index] as Leaf));
    if (!isSame) {
      result.leftOut += 1;
      if (process.env.ANNOTATE_DEBUG) {
        const at = leaves.findIndex(
          (leaf, index) =>
            stripped(leaf) !== stripped(after.page.leaves[index] ?? ({ kind: 'other', text: '' } as Leaf)),
        );
        bench.say(
          `left out ${file}: ${leaves.length}/${after.page.leaves.length} at ${at}: ${stripped(leaves[at] as Leaf)} | ${stripped(after.page.leaves[at] as Leaf)}`,
        );
      }
      continue;
    }
    result.pages += 1;
    const truth = new Map<number, Set<number>>();
    for (const [index, { text: marks, kind }] of after.page.leaves.entries())
      for (const [, number] of marks.matchAll(token)) {
        const block = blocks[Number(number)];
        if (block?.kind === 'heading' && kind !== 'heading') continue;
        truth.set(Number(number), (truth.get(Number(number)) ?? new Set()).add(index));
      }
    const found = new Map(alignPage(blocks, before.page).map((match) => [match.block, match]));
    readings.push(() => alignPage(blocksOfFile(text, file, dialect), leavesOf(before.html)));
    for (const [index, block] of blocks.entries()) {
      const right = truth.get(index);
      const match = found.get(index);
      if (right) result.blocks += 1;
      if (!match) {
        if (right) result.missed.push(`${file}:${block.start_line} ${block.kind} ${block.text.slice(0, 60)}`);
      } else if (right?.has(match.leaf)) result.right += 1;
      else if (right) {
        const leaf = leaves[match.leaf];
        result.wrong.push(
          `${file}:${block.start_line} ${block.kind} ${block.text.slice(0, 40)} → ${leaf?.kind} ${leaf?.text.slice(0, 40)} (${match.confidence})`,
        );
      }
    }
  }
  // All are read a few times before the first is timed: the process that reads pages lives long.
  for (let n = 0; n < 5; n++) for (const read of readings) read();
  result.milliseconds = readings.map(time);
  return result;
}

function time(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

function casesOf({ name, pages, leftOut, blocks, right, wrong, milliseconds }: Result): Case[] {
  const exact =
    flavours[name] === undefined ||
    flavours[name] === 'plain' ||
    flavours[name] === 'admonitions' ||
    flavours[name] === 'containers';
  return [
    {
      name: `${name}: ${pages} pages (${leftOut} left out), ${right} of ${blocks} blocks found`,
      unit: '%',
      value: (right / blocks) * 100,
      atLeast: exact ? 99.5 : 95,
    },
    { name: `${name}: wrong blocks`, unit: '', value: wrong.length, atMost: 0 },
    timedCase(`${name}: a page, parsing included`, milliseconds, { atMost: 5 }),
  ];
}

/** Whether the blocks of a source are found on the page that was built of it. */
export const annotate: Benchmark = {
  name: 'annotate',
  summary:
    'Blocks of sources on the pages that the sites in test/sites build of them, beside tokens put into the sources.',
  minutes: 30,
  async run(bench) {
    const wanted = Object.values<FixtureSite>(fixtureSites).filter(({ name }) => name.includes(bench.only ?? ''));
    check(wanted.length > 0, 'no site has such a name');
    const results: Result[] = [];
    for (const site of wanted) {
      results.push(await judgeSite(site, bench));
      bench.say(`${site.name}: built twice and compared`);
    }
    const notes = results.flatMap(({ name, wrong, missed }) => [
      ...wrong.map((text) => `${name}: wrong: ${text}`),
      ...missed.slice(0, 10).map((text) => `${name}: missed: ${text}`),
    ]);
    return { cases: results.flatMap(casesOf), notes };
  },
};
