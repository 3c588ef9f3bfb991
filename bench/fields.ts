import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseDocument } from 'yaml';
import { editFile } from '../src/domain/studio/frontmatter/edit-file.ts';
import { parseFile } from '../src/domain/studio/frontmatter/parse-file.ts';
import { mergeEntry } from '../src/domain/studio/merge/merge-entry.ts';
import { type Benchmark, type Case, check } from './benchmark.ts';
import { postOf } from './support/content.ts';
import { mergedPost, type Sides } from './support/sides.ts';
import { timed } from './support/statistics.ts';
import { runGit } from './support/stock-git.ts';

const file = 'src/content/posts/post.md';
const none = { from: 0, count: 0 };

/** Milliseconds of one round in the mean; the first tenth, before the code is compiled, does not count. */
async function mean(rounds: number, work: (round: number) => unknown): Promise<number> {
  const from = Math.ceil(rounds / 10);
  for (let round = 0; round < from; round += 1) await work(round);
  const total = await timed(async () => {
    for (let round = from; round < rounds + from; round += 1) await work(round);
  });
  return total / rounds;
}

async function mergeCase(rounds: number, directory: string): Promise<Case> {
  const everything = { from: 0, count: 2 * rounds };
  const sides: Sides = { name: 'two', ours: everything, theirs: everything };
  const texts = Array.from({ length: rounds + Math.ceil(rounds / 10) }, (_, number) => ({
    base: Buffer.from(postOf(number)),
    current: Buffer.from(mergedPost(number, { ...sides, theirs: none })),
    incoming: Buffer.from(mergedPost(number, { ...sides, ours: none })),
  }));
  const results: (Buffer | null)[] = [];
  const value = await mean(rounds, (round) => {
    const { base = null, current = null, incoming = null } = texts[round] ?? {};
    const result = mergeEntry({ base, current, incoming, path: file });
    results[round] = result.kind === 'clean' ? result.bytes : null;
  });
  for (const [number, bytes] of results.entries()) {
    check(bytes?.equals(Buffer.from(mergedPost(number, sides))) === true, `Post ${number} is merged wrong`);
  }
  const { base, current, incoming } = texts[0] ?? {};
  const names = ['current', 'base', 'incoming'].map((name) => path.join(directory, name));
  for (const [at, content] of [current, base, incoming].entries()) await writeFile(names[at] ?? '', content ?? '');
  const byGit = await mean(50, () => runGit(directory, ['merge-file', '-p', ...names], { accept: 1 }));
  const peers = [{ name: '`git merge-file` per call, which leaves a conflict', value: byGit }];
  return { name: 'field merge of one file, mean', unit: 'ms', value, runs: rounds, atMost: 1, peers };
}

/** Sets the title by parsing and printing the whole block with the `yaml` package. */
function printAgain(text: string, title: string): string {
  const end = text.indexOf('\n---\n', 3) + 1;
  const block = parseDocument(text.slice(4, end));
  block.set('title', title);
  return `---\n${block.toString()}${text.slice(end)}`;
}

async function editCase(rounds: number): Promise<Case> {
  const all = Array.from({ length: rounds + Math.ceil(rounds / 10) }, (_, number) => postOf(number));
  const buffers = all.map((text) => Buffer.from(text));
  const results: Buffer[] = [];
  const value = await mean(rounds, (round) => {
    const bytes = buffers[round] ?? Buffer.alloc(0);
    const { frontmatter } = parseFile(bytes, file);
    results[round] = editFile(bytes, file, { frontmatter: { ...frontmatter, title: `Title ${round}` } }).bytes;
  });
  for (const [number, bytes] of results.entries()) {
    const wanted = postOf(number).replace(/^title: .*$/m, `title: "Title ${number}"`);
    check(bytes.toString() === wanted, `Post ${number} is edited wrong`);
  }
  const printed = await mean(rounds, (round) => printAgain(all[round] ?? '', `Title ${round}`));
  const peers = [{ name: 'the `yaml` package, block printed again', value: printed }];
  return { name: 'frontmatter edit with its verification, mean', unit: 'ms', value, runs: rounds, atMost: 0.5, peers };
}

/** What the two pure functions at the bottom of saves and merges cost. */
export const fields: Benchmark = {
  name: 'fields',
  summary: 'Field merge and frontmatter edit of one file, beside `git merge-file` and the yaml package.',
  async run(bench) {
    const rounds = bench.scaled(4_000);
    return {
      cases: [await mergeCase(rounds, await bench.directory()), await editCase(rounds)],
      notes: [
        'Posts of the site; every result is compared byte by byte. An edit reads the file, writes the new block and reads the result again.',
      ],
    };
  },
};
