import { mkdirSync, writeFileSync } from 'node:fs';
import { readlink, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { WorkspaceFile } from '../../ports/deployer.ts';

/** Larger files are written by a thread; bytes. */
const largestAtOnce = 256 * 1024;
/** Milliseconds of writing after which others have their turn. */
const slice = 5;

const isInside = (root: string, file: string) => file === root || file.startsWith(`${root}${path.sep}`);

/** Whether what a link names lies inside: by its text, and where it really leads when there is something. */
async function leadsInside(root: string, link: string): Promise<boolean> {
  const target = await readlink(link);
  if (path.isAbsolute(target) || !isInside(root, path.resolve(path.dirname(link), target))) return false;
  const real = await realpath(link).catch(() => null);
  return real === null || isInside(root, real);
}

/**
 * Makes directories below a root, each once. A file of a few kilobytes takes the system less time than a promise and a thread take to
 * hand it over, and a directory still less; so both are made at once, for a few milliseconds at a time.
 */
function directoriesBelow(root: string): (directory: string) => void {
  const made = new Set([root]);
  return function make(directory) {
    if (made.has(directory)) return;
    make(path.dirname(directory));
    mkdirSync(directory);
    made.add(directory);
  };
}

/**
 * Writes files below an empty directory, links last: nothing is ever written through one.
 * @param root without links
 * @returns the links that lead out, which are removed again
 */
export async function writeTree(root: string, files: AsyncIterable<WorkspaceFile>): Promise<string[]> {
  const links: WorkspaceFile[] = [];
  const make = directoriesBelow(root);
  let began = performance.now();
  for await (const file of files) {
    const target = path.join(root, file.path);
    if (!isInside(root, target)) throw new Error(`${file.path} is not below the workspace`);
    if (file.kind === 'link') {
      links.push(file);
      continue;
    }
    make(path.dirname(target));
    const options = { flag: 'wx', mode: file.kind === 'executable' ? 0o755 : 0o644 };
    if (file.content.length <= largestAtOnce) writeFileSync(target, file.content, options);
    else await writeFile(target, file.content, options);
    if (performance.now() - began < slice) continue;
    await setImmediate();
    began = performance.now();
  }
  for (const { path: name, content } of links) {
    const link = path.join(root, name);
    make(path.dirname(link));
    await symlink(content.toString('utf8'), link);
  }
  const leftOut: string[] = [];
  for (const { path: name } of links) {
    const link = path.join(root, name);
    if (await leadsInside(root, link)) continue;
    leftOut.push(name);
    await rm(link);
  }
  return leftOut;
}
