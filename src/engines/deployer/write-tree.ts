import { mkdir, readlink, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { WorkspaceFile } from '../../domain/ports/deployer.ts';

const isInside = (root: string, file: string) => file === root || file.startsWith(`${root}${path.sep}`);

/** Whether what a link names lies inside: by its text, and where it really leads when there is something. */
async function leadsInside(root: string, link: string): Promise<boolean> {
  const target = await readlink(link);
  if (path.isAbsolute(target) || !isInside(root, path.resolve(path.dirname(link), target))) return false;
  const real = await realpath(link).catch(() => null);
  return real === null || isInside(root, real);
}

/**
 * Writes files below an empty directory, links last: nothing is ever written through one.
 * @param root without links
 * @returns the links that lead out, which are removed again
 */
export async function writeTree(root: string, files: AsyncIterable<WorkspaceFile>): Promise<string[]> {
  const links: WorkspaceFile[] = [];
  const made = new Set<string>();
  const parentOf = async (file: string) => {
    const directory = path.dirname(file);
    if (!made.has(directory)) await mkdir(directory, { recursive: true });
    made.add(directory);
  };
  for await (const file of files) {
    const target = path.join(root, file.path);
    if (!isInside(root, target)) throw new Error(`${file.path} is not below the workspace`);
    if (file.kind === 'link') {
      links.push(file);
      continue;
    }
    await parentOf(target);
    await writeFile(target, file.content, { flag: 'wx', mode: file.kind === 'executable' ? 0o755 : 0o644 });
  }
  for (const { path: name, content } of links) {
    const link = path.join(root, name);
    await parentOf(link);
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
