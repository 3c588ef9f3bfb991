import { createOrganization } from '../../domain/organizations/organizations.operations.ts';
import { type Command, call, optional } from '../command.ts';

const shown = (value: unknown) =>
  value === null ? '(not set)' : Array.isArray(value) ? value.join(',') || '(none)' : String(value);

/** `portico config` */
export const configCommand: Command = {
  name: 'config',
  summary: 'Print the effective settings, secrets masked, and how builds are isolated here',
  synopsis: '',
  options: {},
  words: [0, 0],
  async run(_words, _values, { settings, isolation, screen }) {
    for (const [name, value] of Object.entries(settings())) screen.print(`${name}=${shown(value)}`);
    screen.print(`# Isolation of builds: ${await isolation()}`);
  },
};

/** `portico organization create` */
export const organizationCreate: Command = {
  name: 'organization create',
  summary: 'Create an organisation',
  synopsis: '<name> [--name "Display name"]',
  notes: [['--name <text>', 'display name; default: the machine name']],
  options: { name: { type: 'string' } },
  words: [1, 1],
  async run([machine_name = ''], values, { open, screen }) {
    const { services } = await open();
    const name = optional(values, 'name') ?? machine_name;
    const made = await call(services, createOrganization, { name, machine_name });
    screen.print(`Created organisation ${made.machine_name}`);
  },
};
