import path from 'node:path';
import { backupProject } from '../../src/domain/backups/backup-project.operations.ts';
import { restoreBackup } from '../../src/domain/backups/restore-backup.operations.ts';
import type { TestApp } from './app.ts';
import { temporaryDirectory } from './git-store.ts';

type Needs = Pick<TestApp, 'run'>;

/** Backs a project of `acme` up. @returns the new directory that holds it */
export async function backUp(app: Needs, project: string): Promise<string> {
  const directory = path.join(temporaryDirectory(), 'backup');
  await app.run(backupProject, { organization: 'acme', project, directory });
  return directory;
}

/** Makes a new project of a backup. */
export const restore = (app: Needs, directory: string, restored_project: string) =>
  app.run(restoreBackup, { organization: 'acme', directory, restored_project });

/** Backs a project up and restores it beside itself. @returns the backup and the name of the copy */
export async function copyByBackup(app: Needs, project: string): Promise<{ directory: string; copy: string }> {
  const directory = await backUp(app, project);
  const copy = `${project}-copy`;
  await restore(app, directory, copy);
  return { directory, copy };
}
