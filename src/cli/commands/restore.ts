import path from 'node:path';
import { readBackup, restoreBackup } from '../../domain/backups/restore-backup.operations.ts';
import { createOrganization, getOrganization } from '../../domain/organizations/organizations.operations.ts';
import type { AllServices } from '../../domain/services.ts';
import { call, callOrNull } from '../call.ts';
import { type Command, optional } from '../command.ts';
import { machineNameOf } from '../project-name.ts';
import { countsText, type Screen } from '../screen.ts';

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
