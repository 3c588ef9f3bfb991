import type { Snapshot, TreeFile } from '../../../../ports/git-records.ts';
import { isServable } from '../../manifest.ts';
import { neverPublished } from '../../output-limits.ts';
import { StageFailure } from '../stage.ts';
import { followPath } from './follow-path.ts';

/** The files of a directory of a commit, told apart by what becomes of them; paths are relative to the directory. */
export interface TreeOutput {
  /** Of the directory in the repository; links on the way are followed. */
  path: string;
  published: TreeFile[];
  /** Links that lead out of the repository. */
  leadOut: string[];
  /** Other links, and files whose names no URL can hold. */
  refused: string[];
  submodules: string[];
}

const isHidden = (path: string) =>
  path
    .split('/')
    .slice(0, -1)
    .some((name) => neverPublished.has(name));

const shown = (path: string) => (isServable(path) ? path : JSON.stringify(path));

/**
 * Lists what a directory of a commit holds to be published.
 * @throws StageFailure `output_missing` when it is none, leads out of the repository or holds no file
 */
export async function listOutput(tree: Snapshot, directory: string): Promise<TreeOutput> {
  const found = await followPath(tree, directory);
  if (found === 'outside') throw new StageFailure('output_missing', `${directory} leads out of the repository`);
  const isDirectory = found !== 'missing' && (found.entry === null || found.entry.mode === '40000');
  if (!isDirectory) throw new StageFailure('output_missing', `There is no directory ${directory || '.'} in the commit`);
  const output: TreeOutput = { path: found.path, published: [], leadOut: [], refused: [], submodules: [] };
  for (const file of await tree.files(found.path)) {
    if (isHidden(file.path)) continue;
    if (file.mode === '160000') output.submodules.push(file.path);
    else if (file.mode === '120000') {
      const leadsTo = await followPath(tree, found.path === '' ? file.path : `${found.path}/${file.path}`);
      (leadsTo === 'outside' ? output.leadOut : output.refused).push(shown(file.path));
    } else if (isServable(file.path)) output.published.push(file);
    else output.refused.push(shown(file.path));
  }
  if (output.published.length === 0)
    throw new StageFailure('output_missing', `${directory || 'The root directory'} holds no file`);
  return output;
}
