import path from 'node:path';
import { backupProject } from '../../domain/backups/backup-project.operations.ts';
import { readBackup, restoreBackup } from '../../domain/backups/restore-backup.operations.ts';
import { createOrganization, getOrganization } from '../../domain/organizations/organizations.operations.ts';
import type { AllServices } from '../../domain/services.ts';
import { type Command, call, callOrNull, optional, Problem, type Surroundings, UsageError } from '../command.ts';
import { everyProject, machineNameOf, type ProjectName, projectName, shownName } from '../project-name.ts';
import { bytesText, countsText, type Screen } from '../screen.ts';

type Tools = Pick<Surroundings, 'screen' | 'signal'>;

/** `portico backup` */
export const backupCommand: Command = {
  name: 'backup',
  summary: 'Write a backup of a project, or of all',
  synopsis: '(<organization>/<project> | --all) <directory>',
  notes: [
    ['<directory>', 'made by the command; it is there when the backup is whole'],
    ['--all', 'every project, each into <directory>/<organization>/<project>'],
  ],
  options: { all: { type: 'boolean' } },
  words: [0, 2],
  async run(words, { all }, { open, ...tools }) {
    const [name, directory] = all ? [undefined, words[0]] : words;
    if (all && words.length > 1) throw new UsageError(`Unexpected ${words[1]}; --all needs a directory alone`);
    if (directory === undefined) throw new UsageError('<directory> is missing');
    const target = path.resolve(directory);
    const one = name === undefined ? null : projectName(name);
    const { services } = await open();
    const write = (project: ProjectName, place: string) => writeBackup(services, project, place, tools);
    if (one) return write(one, target);
    const failed = await writeEach(await everyProject(services), target, write, tools);
    if (failed > 0) throw new Problem(`${failed} of the projects could not be backed up`);
  },
};

async function writeBackup(
  services: Parameters<typeof call>[0],
  project: ProjectName,
  directory: string,
  { screen, signal }: Tools,
): Promise<void> {
  const shown = shownName(project);
  const onPhase = (phase: string) => screen.progress(`${shown}: ${phase}`);
  const { bytes, counts } = await call(services, backupProject, { ...project, directory }, { signal, onPhase });
  screen.print(`Backed up ${shown} to ${directory}: ${countsText(counts)}, ${bytesText(bytes)}`);
}

/** One after another; failures are printed and do not stop the others. @returns how many failed. */
async function writeEach(
  projects: readonly ProjectName[],
  target: string,
  write: (project: ProjectName, place: string) => Promise<void>,
  { screen, signal }: Tools,
): Promise<number> {
  let failed = 0;
  for (const project of projects) {
    signal.throwIfAborted();
    try {
      await write(project, path.join(target, project.organization, project.project));
    } catch (error) {
      if (signal.aborted) throw error;
      failed += 1;
      screen.note(`portico: ${shownName(project)}: ${(error as Error).message}`);
    }
  }
  if (projects.length === 0) screen.print('There are no projects');
  return failed;
}

/** `portico restore` */
export const restoreCommand: Command = {
  name: 'restore',
  summary: 'Make a new project out of a backup',
  synopsis: '<directory> [--organization <name>] [--project <name>]',
  notes: [
    [
      '--organization <name>',
      'machine name; default: that of the backup; the organisation is created when it is missing',
    ],
    ['--project <name>', 'machine name of the new project; default: that of the backup'],
  ],
  options: { organization: { type: 'string' }, project: { type: 'string' } },
  words: [1, 1],
  async run([word = ''], values, { open, screen, signal }) {
    const directory = path.resolve(word);
    const nameOf = (option: string) => {
      const given = optional(values, option);
      return given === undefined ? undefined : machineNameOf(option, given);
    };
    const [chosenOrganization, chosenProject] = [nameOf('organization'), nameOf('project')];
    const { services } = await open();
    const tools = { signal, onPhase: (phase: string) => screen.progress(phase) };
    const label = await call(services, readBackup, { directory }, tools);
    const organization = chosenOrganization ?? label.organization;
    const name = organization === label.organization ? label.organization_name : organization;
    await ensureOrganization(services, organization, name, screen);
    const restored_project = chosenProject ?? label.project;
    const made = await call(services, restoreBackup, { organization, directory, restored_project }, tools);
    const of = `the backup of ${label.organization}/${label.project} from ${label.made_at}`;
    screen.print(`Restored ${made.organization}/${made.project} from ${of}: ${countsText(made.counts)}`);
  },
};

async function ensureOrganization(services: AllServices, machine_name: string, name: string, screen: Screen) {
  if (await callOrNull(services, getOrganization, { organization: machine_name })) return;
  await call(services, createOrganization, { name, machine_name });
  screen.print(`Created organisation ${machine_name}`);
}
