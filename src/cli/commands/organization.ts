import { createOrganization } from '../../domain/organizations/organizations.operations.ts';
import { call } from '../call.ts';
import { type Command, optional } from '../command.ts';

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
