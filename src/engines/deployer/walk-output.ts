import { lstat, readdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import { neverPublished, type OutputLimits, OutputSize } from '../../domain/studio/deployments/manifest.ts';
import type { Output, OutputFile, OutputProblem } from '../../ports/deployer.ts';

type Problem = { problem: OutputProblem; detail: string };

async function resolveInside(root: string, directory: string): Promise<string | Problem> {
  const missing = { problem: 'missing', detail: `There is no directory ${directory || '.'} after the build` } as const;
  const wanted = path.join(root, directory);
  const real = await realpath(wanted).catch(() => null);
  if (real === null) return missing;
  if (real !== root && !real.startsWith(`${root}${path.sep}`))
    return { problem: 'outside', detail: `${directory} leads out of the workspace` };
  return (await lstat(real)).isDirectory() ? real : missing;
}

/**
 * The plain files below a directory of the tree. Links and special files are refused and named, whatever they lead to.
 * @param root the tree, without links; nothing may be writing to it any more
 */
export async function walkOutput(root: string, directory: string, limits: OutputLimits): Promise<Output | Problem> {
  const start = await resolveInside(root, directory);
  if (typeof start !== 'string') return start;
  const files: OutputFile[] = [];
  const refused: string[] = [];
  const total = new OutputSize(limits);
  const waiting = [''];
  for (let below = waiting.pop(); below !== undefined; below = waiting.pop()) {
    for (const item of await readdir(path.join(start, below), { withFileTypes: true })) {
      const name = below === '' ? item.name : `${below}/${item.name}`;
      if (item.isDirectory()) {
        if (!neverPublished.has(item.name)) waiting.push(name);
      } else if (item.isFile()) {
        const file = path.join(start, name);
        const found = { path: name, file, size: (await lstat(file)).size };
        files.push(found);
        const problem = total.add(name, found.size);
        if (problem) return problem;
      } else refused.push(name);
    }
  }
  if (files.length === 0) return { problem: 'empty', detail: `${directory || 'The root directory'} holds no file` };
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { files, refused: refused.sort() };
}
