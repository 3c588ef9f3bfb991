import { chmod, mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, it } from 'vitest';
import { createDeployer } from '../../src/engines/deployer/deployer.ts';
import { type SandboxKind, sandboxKinds } from '../../src/engines/deployer/sandbox.ts';
import type { Command, CommandEnd, Deployer, ProcessName, Workspace } from '../../src/ports/deployer.ts';

export const mebibyte = 1024 * 1024;
export const testLimits = {
  memory: 150 * mebibyte,
  // Other tests fill the memory of this machine meanwhile.
  otherMemory: 8_192 * mebibyte,
  processes: 40,
  descriptors: 1_500,
  workspace: 20 * mebibyte,
  files: 1_500,
};

const required = (process.env.PORTICO_TEST_SANDBOXES ?? '').split(',');

/**
 * A deployer for each way to close builds in that works here, in a directory that is removed afterwards. A way that this machine cannot have
 * is named by a skipped test; where it has to be there, as in CI (`PORTICO_TEST_SANDBOXES`), that test fails.
 */
export async function sandboxesHere(): Promise<{
  directory: string;
  usable: { kind: SandboxKind; deployer: Deployer }[];
}> {
  // On the disk, as in use: the temporary directory may lie in memory, and every user can enter this one.
  const directory = await realpath(await mkdtemp('/var/tmp/portico-deployer-'));
  await chmod(directory, 0o711);
  afterAll(() => rm(directory, { recursive: true, force: true }));
  const usable: { kind: SandboxKind; deployer: Deployer }[] = [];
  for (const kind of sandboxKinds) {
    const deployer = createDeployer({
      directory: path.join(directory, kind),
      dataDirectory: path.join(directory, 'data'),
      strict: false,
      limits: testLimits,
      kinds: [kind],
    });
    const found = await deployer.isolation();
    if ('level' in found) usable.push({ kind, deployer });
    else
      it(`runs commands by ${kind}: ${found.refused}`, (context) => {
        if (required.includes(kind)) throw new Error(found.refused);
        // The machine's fact, named in the report: CI lists the kinds it can have, and there it fails above.
        context.skip(found.refused);
      });
  }
  return { directory, usable };
}

/** The tree of the workspace that a deployment of this kind of deployer has opened below `directory`. */
export async function treeOf(directory: string, kind: SandboxKind, deployment: number): Promise<string> {
  const names = await readdir(path.join(directory, kind));
  return path.join(directory, kind, names.find((name) => name.startsWith(`${deployment}-`)) ?? '', 'tree');
}

/** Runs a command in the directory `site` of a workspace. @returns how it ended, what it wrote, and the leader of its processes */
export async function runIn(
  workspace: Workspace,
  text: string,
  more: Partial<Command> = {},
): Promise<CommandEnd & { output: string; leader: ProcessName }> {
  let output = '';
  let leader: ProcessName | undefined;
  const end = await workspace.run({
    text,
    directory: 'site',
    variables: {},
    network: true,
    time: 30_000,
    signal: new AbortController().signal,
    onOutput: (chunk) => {
      output += chunk.toString();
      return undefined;
    },
    onStart: async (name) => {
      leader = name;
    },
    ...more,
  });
  return { ...end, output, leader: leader as ProcessName };
}
