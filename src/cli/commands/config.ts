import type { Command } from '../command.ts';

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
