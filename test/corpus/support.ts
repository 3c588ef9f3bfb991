import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { runCorpus } from '../../corpus/command.ts';
import type { Engine } from '../../corpus/engine.ts';
import type { CorpusReport } from '../../corpus/report.ts';

/** A directory that goes with the test. */
export async function temporary(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'portico-test-'));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}

/** Writes files into a new directory; text is written as it is given. */
export async function siteOf(files: Record<string, string | Buffer>): Promise<string> {
  const root = await temporary();
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
  return root;
}

interface Ran {
  code: number;
  out: string;
  err: string;
  /** What was printed, read as JSON. */
  report: CorpusReport;
}

/** Runs the command as a person would, in this process. */
export async function corpus(words: string[], engine?: Engine, signal = new AbortController().signal): Promise<Ran> {
  const printed = { out: [] as string[], err: [] as string[] };
  const code = await runCorpus(words, {
    out: (text) => void printed.out.push(text),
    err: (text) => void printed.err.push(text),
    signal,
    ...(engine && { engine }),
  });
  const [out, err] = [printed.out.join(''), printed.err.join('')];
  const report = words.includes('--json') && out !== '' ? JSON.parse(out) : undefined;
  return { code, out, err, report: report as CorpusReport };
}

/** The report of one site of these files. */
export async function reportOf(files: Record<string, string | Buffer>, ...words: string[]) {
  const { code, report } = await corpus([await siteOf(files), '--json', ...words]);
  const [source] = report.sources;
  if (source === undefined) throw new Error('no source was reported');
  return { code, source };
}

/** git in a repository of the test's own. */
export function git(directory: string, ...args: string[]): string {
  const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.org', '-c', 'init.defaultBranch=main'];
  return execFileSync('git', [...identity, ...args], {
    cwd: directory,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
}

/** How the files of a directory look, to see that none was written. */
export function fingerprint(directory: string): string {
  return execFileSync('sh', ['-c', 'find . -type f -exec sha256sum {} + | sort; find . | sort'], {
    cwd: directory,
    encoding: 'utf8',
  });
}
